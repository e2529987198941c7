// SPDX-License-Identifier: Apache-2.0
// What an access or an event makes of a virtio device and of a queue, by the specification's rules (VIRTIO 1.2, 2.1,
// 2.2, 2.6.1, 4.1.4.3): what is kept of them then, what is read, and what comes of it. Its order is virtio_registers'.
// Combinational.
module virtio_rules
  import virtio_pkg::*;
#(
    parameter int unsigned QUEUES = 2,         // of a function
    parameter int unsigned VECTORS = 4,
    parameter int unsigned QUEUE_SIZE = 256
) (
    input  action_t     action,
    input  logic        msix,           // the function's MSI-X is enabled
    input  logic        clean,          // walk: all of its queues before this one have ended
    input  logic        stilled,        // walk: the engine has found the queue quiet

    input  device_t     device,
    input  virtqueue_t  virtq,
    input  logic [31:0] config_word,
    output logic [15:0] selected,       // the queue that it is about
    output logic [1:0]  config_place,   // word of the device configuration that it is about
    output logic        device_write,
    output device_t     device_new,
    output logic        queue_write,
    output virtqueue_t  queue_new,
    output logic        config_write,
    output effect_t     effect
);

  if (QUEUES < 2 || QUEUES > 16) begin : gen_bad_queues
    $fatal(1, "virtio_rules: QUEUES must be 2 to 16, not %0d", QUEUES);
  end
  if (VECTORS < 1 || VECTORS > 2048) begin : gen_bad_vectors
    $fatal(1, "virtio_rules: VECTORS must be 1 to 2048, not %0d", VECTORS);
  end
  if (QUEUE_SIZE < 1 || QUEUE_SIZE > 32768) begin : gen_bad_queue_size
    $fatal(1, "virtio_rules: QUEUE_SIZE must be 1 to 32768, not %0d", QUEUE_SIZE);
  end

  function automatic logic [15:0] vector_of(logic [15:0] asked);
    return 32'(asked) < VECTORS ? asked : NO_VECTOR;
  endfunction

  // ------------------------------------------------------------------------------------------------- what it is about
  wire drive = action.job == ACCESS && action.known;
  wire common = drive && action.offset[13:6] == COMMON[13:6];
  wire at_isr = drive && action.offset[13:2] == ISR[13:2];
  wire at_device = drive && action.offset[13:4] == DEVICE[13:4];
  wire notifies = drive && action.offset[13:12] == NOTIFY[13:12] && action.write && action.wstrb[1:0] == '1;
  assign selected     = action.job != ACCESS ? action.number : notifies ? action.wdata[15:0] : device.queue_select;
  assign config_place = action.job == MANAGES || at_device ? action.offset[3:2] : 2'd3;
  wire selects = 32'(selected) < QUEUES;                // there is such a queue

  // ---------------------------------------------------------------------------------------------- the host's accesses
  wire [63:0] offered = {OFFERED[63:32], config_word & SUPPORTED[31:0]};
  wire [3:0] word = action.offset[5:2];
  wire [2:0] half = 3'(word - 4'd8);                 // of an address
  wire device_half = device.device_select[0];
  wire driver_half = device.driver_select[0];
  wire device_halves = device.device_select[31:1] == '0;
  wire driver_halves = device.driver_select[31:1] == '0;
  logic [31:0] old_word, read_word, new_word;
  always_comb begin
    old_word = '0;
    case (word)
      4'd0:    old_word = device.device_select;
      4'd1:    if (device_halves) old_word = offered[32*device_half+:32];
      4'd2:    old_word = device.driver_select;
      4'd3:    if (driver_halves) old_word = device.features[32*driver_half+:32];
      4'd4:    old_word = {16'(QUEUES), device.config_vector};
      4'd5:    old_word = {device.queue_select, device.generation, device.status};
      4'd6:    old_word = {virtq.vector, virtq.size};
      4'd7:    old_word = {selected, 15'd0, virtq.enabled};
      4'd14:   old_word = {15'd0, virtq.resetting, selected};
      4'd15:   old_word = '0;
      default: old_word = virtq.addresses[half];
    endcase
    if (word > 4'd5 && !selects) old_word = '0;
    for (int i = 0; i < 4; i++) new_word[8*i+:8] = action.wstrb[i] ? action.wdata[8*i+:8] : old_word[8*i+:8];

    read_word = '0;
    if (common) read_word = old_word;
    if (common && word == 4'd5 && device.resetting && device.status == '0) read_word[0] = 1'b1;  // it isn't over
    if (at_isr) read_word = 32'(device.isr);
    if (at_device && action.offset[3:2] != 2'd3) read_word = config_word;
    if (action.job == MANAGES && action.known) read_word = config_word;
  end

  // -------------------------------------------------------------------------------------------------- what comes of it
  wire ready = device.status[DRIVER_OK];
  wire sets = common && action.write && !device.resetting;
  wire sets_queue = sets && word > 4'd5 && selects;
  wire acceptable = (device.features & ~offered) == '0 && (device.features & NEEDED) == NEEDED;
  wire walk_resets = device.resetting || virtq.resetting;
  wire last_queue = 32'(action.number) == QUEUES - 1;

  always_comb begin
    device_new    = device;
    queue_new     = virtq;
    device_write  = 1'b0;
    queue_write   = 1'b0;
    config_write  = 1'b0;
    effect        = '0;
    effect.kind   = TELL_BEGIN;
    effect.vector = virtq.vector;
    effect.rdata  = read_word;
    case (action.job)
      ACCESS: begin
        device_write = action.known;
        queue_write  = sets_queue;
        effect.tells = notifies && selects && virtq.begun && !walk_resets;
        if (notifies) effect.kind = TELL_BELL;
        if (at_isr && !action.write) device_new.isr = '0;
        if (sets) begin
          case (word)
            4'd0: device_new.device_select = new_word;
            4'd2: device_new.driver_select = new_word;
            4'd3: begin
              if (driver_halves && !device.status[FEATURES_OK]) device_new.features[32*driver_half+:32] = new_word;
            end
            4'd4: device_new.config_vector = vector_of(new_word[15:0]);
            4'd5: begin
              device_new.queue_select = new_word[31:16];
              device_new.status       = device.status | (new_word[7:0] & ~(8'd1 << NEEDS_RESET));
              if (!device.status[FEATURES_OK] && !acceptable) device_new.status[FEATURES_OK] = 1'b0;
              if (!device_new.status[FEATURES_OK]) device_new.status[DRIVER_OK] = 1'b0;
              effect.begins           = device_new.status[DRIVER_OK] && !ready;
              effect.resets           = action.wstrb[0] && action.wdata[7:0] == '0;
              if (effect.resets) device_new.resetting = 1'b1;
            end
            default: ;
          endcase
        end
        if (sets_queue) begin
          case (word)
            4'd6: begin
              if (!virtq.enabled) queue_new.size = new_word[15:0];
              queue_new.vector = vector_of(new_word[31:16]);
            end
            4'd7: begin
              if (new_word[15:0] == 16'd1 && !virtq.enabled && virtq.size != '0 && 32'(virtq.size) <= QUEUE_SIZE)
              begin
                queue_new.enabled = 1'b1;
                queue_new.begun   = ready;
                effect.tells      = ready;
              end
            end
            4'd14: begin
              effect.resets = new_word[16] && virtq.enabled && !virtq.resetting && device.features[RING_RESET];
              queue_new.resetting = virtq.resetting || effect.resets;
            end
            4'd15:   ;
            default: if (!virtq.enabled) queue_new.addresses[half] = new_word;
          endcase
        end
      end
      BEGIN: begin
        effect.tells    = virtq.enabled && !virtq.begun && !virtq.resetting;
        queue_write     = effect.tells;
        queue_new.begun = 1'b1;
      end
      MANAGES: begin
        config_write          = action.known && action.write;
        device_write          = config_write;
        device_new.generation = device.generation + 1'b1;
      end
      REQUEST: begin
        device_write      = action.known && ready && selects;
        device_new.isr[0] = device.isr[0] || !msix;
        effect.interrupts = device_write && msix;
      end
      FAULT: begin
        device_write                   = action.known && ready && !device.resetting;
        device_new.status[NEEDS_RESET] = 1'b1;
      end
      WALK: begin
        // What is stopped is as new once a look has found it quiet.
        effect.tells      = walk_resets && virtq.begun;
        effect.kind       = virtq.stopped ? TELL_LOOK : TELL_STOP;
        effect.clean      = clean && device.resetting && !virtq.begun;
        effect.finishes   = effect.clean && last_queue;
        effect.ends       = virtq.resetting && !virtq.begun;
        device_write      = effect.finishes;
        device_new        = new_device(device.generation);
        queue_write       = walk_resets;
        queue_new.stopped = 1'b1;
        if (!virtq.begun) queue_new = new_queue(16'(QUEUE_SIZE));
        if (stilled) queue_new.begun = 1'b0;
      end
      default: begin  // FLR
        device_write         = 1'b1;
        device_new.resetting = 1'b1;
        device_new.flr       = 1'b1;
        effect.resets        = !device.resetting;
      end
    endcase
    if ((action.job == MANAGES || action.job == FAULT) && device_write && ready) begin
      device_new.isr[1] = 1'b1;
      effect.vector     = device.config_vector;
      effect.interrupts = msix;
    end
  end

endmodule
