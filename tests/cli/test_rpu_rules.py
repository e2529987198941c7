"""Blocklists and rule files as users have them: what is read of them, what is counted, what is refused and where."""

import json
import random
import re
from ipaddress import IPv4Network
from pathlib import Path

import pytest

from headrace import cli
from headrace.cards.rpu.alerts import unread
from headrace.cards.rpu.blocklist import blocklist_left_out, blocklist_words, read_blocklist
from headrace.cards.rpu.rules import read_rules
from headrace.cards.rpu.tables import Pattern, blacklist_words, c_table, matcher_words
from headrace.errors import HeadraceError


def write(folder: Path, text: str | bytes) -> Path:
    path = folder / "list"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def contents(folder: Path, options: str | bytes) -> tuple[Pattern, ...]:
    """Of one rule."""
    options = options if isinstance(options, bytes) else options.encode()
    (rule,) = read_rules(write(folder, b"alert tcp any any -> any any (" + options + b" sid:1;)")).rules
    return rule.contents


def test_a_blocklist_has_addresses_prefixes_ranges_and_comments(tmp_path: Path) -> None:
    text = (
        "# FireHOL\n\n5.6.7.8\n; Spamhaus DROP List 2026/11/22\n1.10.16.0/20 ; SBL256894\r\n5.6.7.8 # again\n"
        "10.1.2.3/8\n192.0.2.4 - 192.0.2.7\n2001:db8::/32 ; SBL1\n"
    )
    blocklist = read_blocklist(write(tmp_path, text))
    assert blocklist.prefixes == [
        IPv4Network(prefix) for prefix in ("5.6.7.8/32", "1.10.16.0/20", "10.0.0.0/8", "192.0.2.4/30")
    ]
    assert blocklist.ipv6 == 1
    assert blacklist_words(blocklist.prefixes)


@pytest.mark.parametrize("line", ["1.2.3", "1.2.3.4/33", "1.2.3.4 5.6.7.8", "example.org", "1.2.3.9-1.2.3.4", "1::g"])
def test_a_line_that_is_no_prefix_is_named(tmp_path: Path, line: str) -> None:
    path = write(tmp_path, f"1.2.3.4\n{line}\n")
    with pytest.raises(HeadraceError) as error:
        read_blocklist(path, strict=True)
    assert str(error.value).startswith(f"{path}:2: ")
    assert "\n" not in str(error.value)
    found = read_blocklist(path)
    assert found.prefixes == [IPv4Network("1.2.3.4/32")]
    left_out = blocklist_left_out(found)
    assert left_out is not None and left_out.startswith(f"{path}: ignored: 1 line (line 2: ")


def test_what_is_not_looked_at_of_a_blocklist_is_told_and_nothing_left_is_an_error(tmp_path: Path) -> None:
    found = read_blocklist(write(tmp_path, b"\xef\xbb\xbf1.2.3.4\n2001:db8::/32\n::1\n"))
    assert found.prefixes == [IPv4Network("1.2.3.4/32")]
    assert blocklist_left_out(found) == f"{tmp_path}/list: ignored: 2 of IPv6"
    path = write(tmp_path, "2001:db8::/32\n")
    with pytest.raises(HeadraceError, match="no address of IPv4; 1 of IPv6"):
        read_blocklist(path)
    with pytest.raises(HeadraceError, match=":1: IPv6"):
        read_blocklist(path, strict=True)
    with pytest.raises(HeadraceError, match=":1: .*nothing in the file can be used"):
        read_blocklist(write(tmp_path, '{"addresses": []}\n'))
    assert read_blocklist(write(tmp_path, "# none yet\n")).prefixes == []


FORMS = {
    "ipset": "create bad hash:net family inet hashsize 1024 maxelem 65536\nadd bad 1.2.3.0/24\n"
    "add bad 5.6.7.8 timeout 30\nadd bad 9.9.9.8-9.9.9.9 packets 0 bytes 0\ncreate six hash:ip family inet6\n"
    "add six 2001:db8::1\n",
    "csv": 'address,first seen,"what, else"\r\n1.2.3.0/24,2026-01-02,x\r\n'
    '"5.6.7.8",2026-01-03,"a, b"\r\n9.9.9.8/31,,\n::1,,\n',
    "array": '\n["1.2.3.0/24",\n "5.6.7.8", "9.9.9.8 - 9.9.9.9",\n "::1"]\n',
    "lines": '"1.2.3.0/24"\n"5.6.7.8"\n"9.9.9.8/31"\n"::1"\n',
    "objects": '{"cidr":"1.2.3.0/24","sblid":"SBL1"}\n{"ip":"5.6.7.8"}\n{"cidr":"9.9.9.8/31"}\n{"cidr":"::1"}\n'
    '{"type":"metadata","timestamp":1}\n',
}


@pytest.mark.parametrize("form", FORMS)
def test_a_blocklist_may_be_in_any_of_the_forms_that_users_have(tmp_path: Path, form: str) -> None:
    found = read_blocklist(write(tmp_path, FORMS[form]))
    assert list(map(str, found.prefixes)) == ["1.2.3.0/24", "5.6.7.8/32", "9.9.9.8/31"]
    assert (found.ipv6, found.skipped) == (1, [])


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("add bad 10.0.0.0/8 nomatch", "10.0.0.0/8: an exception (nomatch), which is not supported"),
        ("add bad 10.0.0.1,tcp:80", "'10.0.0.1,tcp:80'"),
        ("example.org,10.0.0.1", "'example.org'"),
        ('{"address": "10.0.0.1"}', "neither a string nor an object with cidr, prefix, ip"),
        ("17", "17"),
        ('{"cidr":' * 100_000, "JSON, nested too deep"),
        ('"', "'\"'"),
    ],
)
def test_what_is_none_of_them_is_left_out_and_told(tmp_path: Path, line: str, reason: str) -> None:
    path = write(tmp_path, f"1.2.3.4,x\n{line}\n")
    found = read_blocklist(path)
    assert list(map(str, found.prefixes)) == ["1.2.3.4/32"]
    ((number, told),) = found.skipped
    assert number == 2 and reason in told
    with pytest.raises(HeadraceError, match=":2: "):
        read_blocklist(path, strict=True)


@pytest.mark.parametrize("text", ['["1.2.3.4"', "[1]", '[["1.2.3.4"]]', '["1.2.3.4", null]', "[" * 100_000])
def test_an_array_that_is_none_of_texts_is_refused(tmp_path: Path, text: str) -> None:
    with pytest.raises(HeadraceError, match=":1: JSON: ") as error:
        read_blocklist(write(tmp_path, text))
    assert "\n" not in str(error.value)


def test_addresses_that_are_too_many_are_joined(tmp_path: Path) -> None:
    addresses = [str(address) for address in IPv4Network("10.1.16.0/20")]
    found = read_blocklist(write(tmp_path, "\n".join(addresses)))
    assert blocklist_words(found) == blacklist_words(["10.1.16.0/20"])
    few = read_blocklist(write(tmp_path, "\n".join(addresses[:8])))
    assert blocklist_words(few) == blacklist_words(addresses[:8])


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    for read in (read_blocklist, read_rules):
        with pytest.raises(HeadraceError, match="none: No such file or directory"):
            read(tmp_path / "none")


RULES = r"""
# A comment; so is the next line:
#alert tcp any any -> any any (msg:"off"; content:"off"; sid:1;)
alert tcp $EXTERNAL_NET any -> $HOME_NET 80 (msg:"ET WEB cmd.exe; really"; flow:established,to_server; \
    content:"cmd.exe"; nocase; http_uri; content:"|0d 0A|Host|3A 20|"; depth:20; sid:2000001; rev:3;)
alert http any any -> any any (msg:"Snort 3"; content:"User-Agent",nocase,offset 4; content:!"Mozilla"; nocase; sid:7;)
drop udp any any -> any 53 (msg:"no content"; sid:8; pcre:"/a;b/";)
"""


def test_rules_are_read_and_what_is_ignored_is_counted(tmp_path: Path) -> None:
    result = read_rules(write(tmp_path, RULES))
    first, second = result.rules
    assert (first.sid, first.message, first.line) == (2000001, "ET WEB cmd.exe; really", 4)
    assert first.contents == (Pattern(b"cmd.exe", True), Pattern(b"\r\nHost: "))
    assert (second.sid, second.contents) == (7, (Pattern(b"User-Agent", True),))
    assert result.patterns == [Pattern(b"\r\nHost: "), Pattern(b"User-Agent", True)]
    assert (result.without_content, result.too_long, result.negated) == (1, 0, 1)
    assert result.ignored == {"flow": 1, "http_uri": 1, "depth": 1, "rev": 1, "offset": 1, "pcre": 1}
    assert matcher_words(result.patterns)


@pytest.mark.parametrize(
    ("text", "content"),
    [
        ('"a"', b"a"),
        (r'"a\"b\;c\\d\:e"', rb'a"b;c\d:e'),
        ('"|41 42|c|4344|"', b"ABcCD"),
        ('"|00|"', b"\0"),
        (r'"a\|b"', b"a|b"),
        (r'"\\|41|"', rb"\A"),
        ('"(;)"', b"(;)"),
        (b'"\xe4\xff"', b"\xe4\xff"),
        ('" x "', b" x "),
    ],
    ids=str,
)
def test_a_content_stands_for_bytes(tmp_path: Path, text: str | bytes, content: bytes) -> None:
    text = text if isinstance(text, bytes) else text.encode()
    assert contents(tmp_path, b"content:" + text + b";") == (Pattern(content),)
    assert contents(tmp_path, b"content: " + text + b" ; nocase;") == (Pattern(content, True),)


def test_a_content_that_the_matcher_does_not_take_is_left_out_or_counted(tmp_path: Path) -> None:
    long = "x" * 65
    assert len(read_rules(write(tmp_path, f'alert (content:"{long}"; content:"ab"; sid:1;)')).patterns[0].content) == 2
    result = read_rules(write(tmp_path, f'alert (content:"{long}"; sid:1;)'))
    assert (result.rules, result.too_long) == ([], 1)


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("alert tcp any any", "no rule"),
        ('alert (content:"a"; sid:1;', "no rule"),
        ('(content:"a"; sid:1;)', "no rule"),
        ('alert (content:"a; sid:1;)', "is not closed"),
        ("alert (content:a; sid:1;)", "content: its value must be in quotes"),
        ('alert (content:""; sid:1;)', "content: it is empty"),
        ('alert (content:"|4|"; sid:1;)', "content: |4| is not hexadecimal"),
        ('alert (content:"|41"; sid:1;)', "content: a | is not closed"),
        ('alert (content:"a" b; sid:1;)', "'b' comes after the closing"),
        ("alert (nocase; sid:1;)", "nocase: there is no content before it"),
        ('alert (content:"a"; sid:x;)', "sid: 'x' is no number"),
        ('alert (content:"a";)', "the rule has no sid"),
        ('alert (content:"a"; sid:1)', "option sid: there is no ; after it"),
        ("alert (msg:hello; sid:1;)", "msg: its value must be in quotes"),
    ],
)
def test_a_broken_rule_is_named_with_the_reason(tmp_path: Path, line: str, reason: str) -> None:
    path = write(tmp_path, f"# first\n\n{line}\n")
    with pytest.raises(HeadraceError) as error:
        read_rules(path)
    assert str(error.value).startswith(f"{path}:3: ")
    assert reason in str(error.value)
    assert "\n" not in str(error.value)


BROKEN = r"""
alert tcp any any -> any any (msg:"first"; content:"first"; sid:1;)
alert tcp any any -> any any (msg:"no sid"; content:"a";)
alert tcp any any -> any any (uricontent:"/x"; nocase; content:"second"; sid:2;)
alert tcp any any -> any any (content:"|3 a20|"; sid:3;)
alert tcp any any -> any any (content:"cut off
"""


def test_a_broken_rule_costs_no_other(tmp_path: Path) -> None:
    path = write(tmp_path, BROKEN)
    found = read_rules(path)
    assert found.patterns == [Pattern(b"first"), Pattern(b"second"), Pattern(b": ")]
    assert found.skipped == [(3, "the rule has no sid"), (6, "no rule: it has no options in ( and )")]
    left_out = unread("web.rules", found)
    assert left_out is not None
    assert "; 2 lines (line 3: the rule has no sid; line 6: no rule: it has no options in ( and ))" in left_out
    with pytest.raises(HeadraceError, match=":3: the rule has no sid$"):
        read_rules(path, strict=True)


@pytest.mark.parametrize(
    "options",
    [
        'dns.query; content:"example.org"; nocase;',
        'dns_query; content:"example.org";',
        'tls.sni; dotprefix; content:".example.org"; endswith;',
        'http.uri; to_sha256; content:"abc";',
        'base64_decode:bytes 12; base64_data; content:"abc";',
    ],
)
def test_a_rule_whose_bytes_no_packet_has_is_not_loaded(tmp_path: Path, options: str) -> None:
    found = read_rules(write(tmp_path, f"alert tcp any any -> any any ({options} sid:1;)"))
    assert (found.rules, found.changed, found.without_content) == ([], 1, 1)
    both = read_rules(write(tmp_path, f'alert tcp any any -> any any ({options} http.host; content:"ok"; sid:1;)'))
    assert both.patterns == [Pattern(b"ok")]


def test_what_is_not_looked_at_is_listed_rule_by_rule(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    more = r"""pass ip any any -> any any (content:"a"; sid:11;)
alert ip any any -> any any (content:"plain"; sid:12;)
alert tcp any any -> any any (dns.query; content:"a.b"; content:!"c"; sid:13;)
alert tcp any any -> any any (content:"%s"; sid:14;)
broken
""" % ("x" * 65)
    path = write(tmp_path, RULES + more)
    assert cli.main(["rpu", "rules", str(path)]) == 0
    assert capsys.readouterr().out.splitlines() == [
        'line 4, sid 2000001: "|0D 0A|Host|3A| "; ignored: tcp, $EXTERNAL_NET any -> $HOME_NET 80, '
        'content:"cmd.exe" nocase, flow:established,to_server, http_uri, depth:20',
        'line 6, sid 7: "User-Agent" nocase; ignored: http, offset 4, content:!"Mozilla"',
        "line 7, sid 8: not loaded: it has no content",
        "line 8, sid 11: not loaded: its packets are to pass",
        'line 9, sid 12: "plain"',
        "line 10, sid 13: not loaded: its contents must not occur; its contents packets have in another form",
        "line 11, sid 14: not loaded: its contents are longer than 64 bytes",
        "line 12: not loaded: no rule: it has no options in ( and )",
        "3 of 8 rules are loaded, in 4 of 4,096 rows",
    ]
    assert cli.main(["rpu", "rules", str(path), "--json", "--first", "1"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["loaded"], found["rows"], found["skipped"][0]["line"]) == (1, 1, 12)
    assert found["rules"][1] == {
        "line": 6, "sid": 7, "msg": "Snort 3", "pattern": None, "reason": "it is behind the first 1",
        "not_looked_at": ["http", "offset 4", 'content:!"Mozilla"'],
    }  # fmt: skip
    assert found["rules"][0]["pattern"] == {"hex": b"\r\nHost: ".hex(), "nocase": False}


def test_of_rules_that_are_too_many_the_first_are_loaded(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rng = random.Random(5)
    sizes = [rng.randint(1, 64) for _ in range(1200)]
    rules = [
        f'alert tcp any any -> any any (content:"|{rng.randbytes(size).hex()}|"; sid:{number};)'
        for number, size in enumerate(sizes, 1)
    ]
    path = write(tmp_path, "\n".join(rules))
    with pytest.raises(HeadraceError, match=r"1200 patterns take \d+ rows .* 4096; the first (\d+) fit") as error:
        matcher_words(read_rules(path).patterns)
    (fit,) = map(int, re.findall(r"first (\d+) fit", str(error.value)))
    found = read_rules(path, first=fit)
    assert matcher_words(found.patterns)
    with pytest.raises(HeadraceError, match=f"the first {fit} fit"):
        matcher_words(read_rules(path, first=fit + 1).patterns)
    told = unread("x", found)
    assert told is not None
    assert f"{1200 - fit} rules from sid {fit + 1} in line {fit + 1} on: it is behind the first {fit:,}" in told
    assert cli.main(["rpu", "rules", str(path)]) == 1
    assert capsys.readouterr().err.endswith(f"the first {fit:,} of 1,200 patterns: --first {fit}\n")
    assert cli.main(["rpu", "rules", str(path), "--first", str(fit)]) == 0


def test_rules_that_let_packets_pass_are_not_loaded(tmp_path: Path) -> None:
    found = read_rules(write(tmp_path, 'pass tcp any any -> any any (content:"a"; sid:1;)'))
    assert (found.rules, found.passing) == ([], 1)
    assert unread("x", found) == "x: ignored: 1 rules that let packets pass"


def test_a_table_can_be_part_of_a_program() -> None:
    assert c_table("list", [(4, 255), (131072, 1)]).endswith(
        "const uint32_t list[2][2] = {\n    {0x4, 0xFF},\n    {0x20000, 0x1},\n};\n"
    )
