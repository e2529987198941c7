// Many small graphs on one canvas: a cell for each key, in rows as wide as the page has room. Values come one a second
// for all cells; the browser keeps them. A click on a cell emits "pick" with its key.
const CELL_H = 54;
const MIN_W = 132;
const GAP = 8;

export default {
  template: `<div style="position:relative;width:100%"><canvas style="display:block;cursor:pointer"></canvas></div>`,
  props: { history: Number },
  mounted() {
    this.cells = [];
    this.values = new Map();
    this.log = false;
    this.colour = "#0072B2";
    this.top = 1;
    this.canvas = this.$el.children[0];
    this.canvas.addEventListener("click", (event) => {
      const cell = this.cellAt(event.offsetX, event.offsetY);
      if (cell) this.$emit("pick", cell.key);
    });
    this.observer = new ResizeObserver(() => this.draw());
    this.observer.observe(this.$el);
    this.$emit("ready");
  },
  beforeUnmount() {
    this.observer.disconnect();
  },
  methods: {
    // All of it: cells as {key, label, text, linked}, values by key; log: from 1e-6 on, otherwise from 0.
    reset(cells, values, log, colour) {
      this.values = new Map(Object.entries(values));
      this.log = log;
      this.colour = colour;
      this.show(cells);
    },
    // The next second: cells, each with its value, null: none.
    push(cells) {
      for (const cell of cells) {
        const known = this.values.get(cell.key) ?? [];
        known.push(cell.value);
        while (known.length > this.history) known.shift();
        this.values.set(cell.key, known);
      }
      this.show(cells);
    },
    show(cells) {
      this.cells = cells;
      this.$el.dataset.cells = cells.length;
      this.$el.dataset.linked = cells.filter((cell) => cell.linked).length;
      this.draw();
    },
    columns() {
      return Math.max(1, Math.floor((this.$el.clientWidth + GAP) / (MIN_W + GAP)));
    },
    cellAt(x, y) {
      const columns = this.columns();
      const width = (this.$el.clientWidth + GAP) / columns;
      return this.cells[Math.floor(y / CELL_H) * columns + Math.min(columns - 1, Math.floor(x / width))];
    },
    draw() {
      const width = this.$el.clientWidth;
      if (!width) return; // in a tab that isn't shown
      const columns = this.columns();
      const rows = Math.ceil(this.cells.length / columns);
      const ratio = window.devicePixelRatio || 1;
      const height = Math.max(1, rows * CELL_H);
      this.canvas.width = Math.round(width * ratio);
      this.canvas.height = Math.round(height * ratio);
      this.canvas.style.width = `${width}px`;
      this.canvas.style.height = `${height}px`;
      const pen = this.canvas.getContext("2d");
      pen.scale(ratio, ratio);
      const ink = getComputedStyle(this.$el).color;
      const scaled = (value) => (this.log ? Math.log10(1 + value / 1e-6) : value);
      let top = this.log ? 3 : 1;
      for (const cell of this.cells)
        for (const value of this.values.get(cell.key) ?? []) if (value !== null) top = Math.max(top, scaled(value));
      const cellW = (width - GAP * (columns - 1)) / columns;
      this.cells.forEach((cell, index) => {
        const left = (index % columns) * (cellW + GAP);
        const base = Math.floor(index / columns) * CELL_H + CELL_H - 6;
        pen.globalAlpha = cell.linked ? 0.85 : 0.35;
        pen.fillStyle = ink;
        pen.font = "11px sans-serif";
        pen.textAlign = "left";
        pen.fillText(cell.label, left, base - 36, cellW * 0.62);
        pen.textAlign = "right";
        pen.fillText(cell.text, left + cellW, base - 36, cellW * 0.36);
        pen.globalAlpha = 0.25;
        pen.fillRect(left, base, cellW, 1);
        pen.globalAlpha = 1;
        pen.strokeStyle = this.colour;
        pen.lineWidth = 1.5;
        pen.beginPath();
        const values = this.values.get(cell.key) ?? [];
        let drawn = false;
        values.forEach((value, at) => {
          if (value === null) {
            drawn = false;
            return;
          }
          const x = left + ((this.history - values.length + at) / (this.history - 1)) * cellW;
          const y = base - (scaled(value) / top) * 32;
          if (drawn) pen.lineTo(x, y);
          else pen.moveTo(x, y);
          drawn = true;
        });
        pen.stroke();
      });
    },
  },
};
