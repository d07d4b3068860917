/** The rows of the timeline, each with its lines; a row without recorded values is left out. */
const ROWS = [
  { title: "scenario", weight: 1, bands: "parts", lines: [] },
  { title: "speed, km/h", weight: 3, zero: true, lines: [
    { key: "limit_kmh", name: "limit", unit: "km/h", digits: 0, colour: "#d97706", shape: "hv" },
    { key: "speed_kmh", name: "speed", unit: "km/h", digits: 1, colour: "#1a56db" }] },
  { title: "lateral error, m", weight: 2, lines: [
    { key: "lateral_error_m", name: "lateral", unit: "m", digits: 2, colour: "#0e8a4f" }] },
  { title: "controls", weight: 2.4, range: [-1.05, 1.05], lines: [
    { key: "throttle", name: "throttle", digits: 2, colour: "#0e8a4f" },
    { key: "brake", name: "brake", digits: 2, colour: "#c81e3a" },
    { key: "steer", name: "steer", digits: 2, sign: true, colour: "#7c3aed" }] },
  { title: "does", weight: 1, bands: "behaviours", lines: [] },
  { title: "limited by", weight: 1, bands: "bands", lines: [] },
  { title: "confidence", weight: 2, range: [-0.05, 1.05], lines: [
    { key: "left_line", name: "left line", digits: 2, colour: "#1a56db" },
    { key: "right_line", name: "right line", digits: 2, colour: "#d97706" },
    { key: "position_sigma_m", name: "position σ", unit: "m", digits: 2, colour: "#667085" }] },
];
/** What the ego does, and what limits its speed, have the same colour in all drives; scenarios take those of `BAND_COLOURS`. */
const COLOUR_OF_BAND = {
  "speed limit": "#a8d8b9", acceleration: "#b4cbf5", curve: "#e4d27a", "moving vehicle ahead": "#f3b27a",
  "standing vehicle ahead": "#e0925a", "giving way to a vehicle": "#c3b1ee", pedestrian: "#d9a5d5", "red light": "#ef9a9a",
  "unseen light": "#d3c6c6", "light that is off": "#d3c6c6", "stop sign": "#e79aa9", "yield sign": "#c3b1ee",
  "camera fault": "#c9c9c9", "end of route": "#96d5dc",
  "follow lane": "#a8d8b9", merge: "#9db8f2", yield: "#c3b1ee", stop: "#ef9a9a", creep: "#d3c6c6", "pass in lane": "#e4d27a",
  "change lane": "#b4cbf5", "overtake through oncoming lane": "#f3b27a", "leave parking space": "#96d5dc",
  "give way to emergency vehicle": "#d9a5d5", "back up": "#b7cf8a", "safe stop": "#e0705a",
};
const BAND_COLOURS = ["#9db8f2", "#f3b27a", "#8fd0ab", "#e79aa9", "#c3b1ee", "#e4d27a", "#96d5dc", "#c9c9c9", "#d9a5d5", "#b7cf8a"];
const GAP = 0.055;

/** Plots the signals, and moves the player where it is clicked or dragged. */
class Timeline {
  constructor(box, player) {
    this.box = box;
    this.player = player;
    this.plot = box.querySelector(".plot");
    this.cursor = box.querySelector(".cursor");
    this.signals = data.signals;
    this.rows = ROWS.map((row) => ({ ...row, lines: row.lines.filter((line) => data.signals[line.key]) }))
      .filter((row) => (row.bands ? data[row.bands].length : row.lines.length));
  }

  async draw() {
    const traces = [];
    const layout = {
      margin: { l: 40, r: 140, t: 40, b: 34 }, font: PLOT_FONT, showlegend: false, dragmode: false, hovermode: "closest", barmode: "overlay",
      paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "#fbfcfe",
      xaxis: { range: [0, data.duration_s], title: { text: "time since the first tick, s", standoff: 4 }, minallowed: 0,
        maxallowed: data.duration_s, anchor: `y${this.rows.length}`, zeroline: false },
      shapes: [], annotations: [],
    };
    const total = this.rows.reduce((sum, row) => sum + row.weight, 0);
    let top = 1;
    this.rows.forEach((row, index) => {
      const height = ((1 - GAP * (this.rows.length - 1)) * row.weight) / total;
      const axis = index ? `y${index + 1}` : "y";
      layout[`yaxis${index ? index + 1 : ""}`] = {
        domain: [Math.max(0, top - height), top], fixedrange: true, nticks: 4,
        zerolinecolor: "#c5ccd8", rangemode: row.zero ? "tozero" : "normal", range: row.bands ? [-0.5, 0.5] : row.range,
        showticklabels: !row.bands, showgrid: !row.bands, zeroline: !row.bands,
      };
      row.domain = [Math.max(0, top - height), top];
      layout.annotations.push({ text: row.title, xref: "paper", yref: "paper", x: 0, xanchor: "left", xshift: 2, y: top,
        yanchor: "bottom", yshift: -2, showarrow: false, font: { size: 11, color: "#667085" } });
      top -= height + GAP;
      for (const line of row.lines)
        traces.push({ type: "scatter", mode: "lines", x: this.signals.time_s, y: this.signals[line.key], yaxis: axis,
          name: line.name, line: { color: line.colour, width: 1.5, shape: line.shape || "linear" },
          hovertemplate: `${line.name} %{y:.${line.digits}f} ${line.unit || ""} at %{x:.1f} s<extra></extra>` });
      if (row.bands) traces.push(...this.bandTraces(data[row.bands], axis));
    });
    data.infractions.forEach((entry, i) => {
      layout.shapes.push({ type: "line", x0: entry.time_s, x1: entry.time_s, yref: "paper", y0: 0, y1: 1,
        line: { color: "#c81e3a", width: 1, dash: "dot" } });
      layout.annotations.push({ text: String(i + 1), x: entry.time_s, yref: "paper", y: 1, yanchor: "bottom", yshift: 15,
        showarrow: false, bgcolor: "#c81e3a", borderpad: 2, font: { size: 11, color: "#fff" } });
    });
    await Plotly.newPlot(this.plot, traces, layout, { displayModeBar: false, responsive: true });
    this.plot.on("plotly_afterplot", () => this.show(this.player.time));
    this.player.onTime((time) => this.show(time));
    this.listen();
    this.makeReadout();
    this.show(this.player.time);
  }

  bandTraces(bands, axis) {
    const kinds = [...new Set(bands.map((band) => band.kind))];
    return kinds.map((kind, number) => {
      const own = bands.filter((band) => band.kind === kind);
      return { type: "bar", orientation: "h", yaxis: axis, name: kind, width: 0.9, y: own.map(() => 0),
        base: own.map((band) => band.begin_s), x: own.map((band) => band.end_s - band.begin_s),
        marker: { color: COLOUR_OF_BAND[kind] || BAND_COLOURS[number % BAND_COLOURS.length], line: { width: 0 } },
        text: own.map((band) => (this.isWide(band) ? kind : "")), textposition: "inside",
        insidetextanchor: "middle", textangle: 0, constraintext: "none", cliponaxis: true,
        insidetextfont: { size: 10, color: "#1f2733" },
        customdata: own.map((band) => [band.words, band.begin_s, band.end_s]),
        hovertemplate: "%{customdata[0]}<br>%{customdata[1]:.1f} to %{customdata[2]:.1f} s<extra></extra>" };
    });
  }

  /** Whether a band has room for its name: some 6 px for each letter, with all of the drive in view. */
  isWide(band) {
    const width = this.box.clientWidth - 180;
    return ((band.end_s - band.begin_s) / data.duration_s) * width > 6 * band.kind.length;
  }

  /** Clicks and drags inside the plot's area seek; one on an infraction's mark goes exactly there. */
  listen() {
    let isDragging = false;
    const seek = (event) => {
      const time = this.timeAt(event.clientX);
      const near = event.type === "pointerdown" ? this.markAt(event) : null;
      this.player.seek(near === null ? time : data.infractions[near].time_s);
    };
    this.box.addEventListener("pointerdown", (event) => {
      if (event.button !== 0 || !this.isInside(event)) return;
      isDragging = true;
      this.box.setPointerCapture(event.pointerId);
      this.player.pause();
      seek(event);
    });
    this.box.addEventListener("pointermove", (event) => isDragging && seek(event));
    for (const name of ["pointerup", "pointercancel"]) this.box.addEventListener(name, () => (isDragging = false));
    this.box.addEventListener("dblclick", () => this.setRange(0, data.duration_s));
    this.box.addEventListener("wheel", (event) => this.turn(event), { passive: false });
  }

  /** Zoom where the pointer is with Ctrl and the wheel, as trackpads send it for a pinch; go on with a wheel sideways. */
  turn(event) {
    const sideways = event.shiftKey ? event.deltaY : event.deltaX;
    const [low, high] = this.plot._fullLayout.xaxis.range;
    if (event.ctrlKey) {
      const factor = Math.exp(0.002 * event.deltaY);
      const time = this.timeAt(event.clientX);
      this.setRange(time - (time - low) * factor, time + (high - time) * factor);
    } else if (sideways && high - low < data.duration_s) {
      const step = (0.001 * sideways * (high - low));
      const kept = Math.max(-low, Math.min(data.duration_s - high, step));
      this.setRange(low + kept, high + kept);
    } else return;
    event.preventDefault();
  }

  setRange(low, high) {
    const range = [Math.max(0, low), Math.min(data.duration_s, high)];
    if (range[1] - range[0] > 0.5) Plotly.relayout(this.plot, { "xaxis.range": range });
  }

  isInside(event) {
    const box = this.plot.getBoundingClientRect();
    const axis = this.plot._fullLayout.xaxis;
    const x = event.clientX - box.left - axis._offset;
    return x >= -8 && x <= axis._length + 8;
  }

  markAt(event) {
    const box = this.plot.getBoundingClientRect();
    const layout = this.plot._fullLayout;
    if (event.clientY - box.top > layout.margin.t - 8) return null;
    const axis = layout.xaxis;
    const gaps = data.infractions.map((entry) =>
      Math.abs(axis._offset + axis.l2p(entry.time_s) - (event.clientX - box.left)));
    const least = Math.min(...gaps);
    return least <= 9 ? gaps.indexOf(least) : null;
  }

  timeAt(clientX) {
    const axis = this.plot._fullLayout.xaxis;
    return axis.p2l(clientX - this.plot.getBoundingClientRect().left - axis._offset);
  }

  makeReadout() {
    const readout = this.box.querySelector(".readout");
    this.values = [];
    this.bandTexts = [];
    for (const row of this.rows) {
      const cell = document.createElement("div");
      cell.dataset.domain = row.domain[1];
      for (const line of row.lines) {
        const value = document.createElement("span");
        value.style.color = line.colour;
        cell.append(value, document.createElement("br"));
        this.values.push([line, value]);
      }
      if (row.bands) {
        const text = document.createElement("span");
        cell.append(text);
        this.bandTexts.push([row.bands, text]);
      }
      readout.append(cell);
    }
  }

  show(time) {
    const layout = this.plot._fullLayout;
    if (!layout || !this.values) return;
    const { t, b } = layout.margin;
    const height = layout.height - t - b;
    const x = layout.xaxis.l2p(time);
    this.cursor.style.display = x < -1 || x > layout.xaxis._length + 1 ? "none" : "block";
    Object.assign(this.cursor.style, { left: `${layout.xaxis._offset + x - 1}px`, top: `${t}px`, height: `${height}px` });
    for (const cell of this.box.querySelectorAll(".readout div"))
      cell.style.top = `${t + (1 - cell.dataset.domain) * height - 3}px`;
    const row = rowAt(this.signals.time_s, time);
    for (const [line, value] of this.values) {
      const number = this.signals[line.key][row];
      const text = number === null ? "–" : (line.sign && number > 0 ? "+" : "") + number.toFixed(line.digits);
      value.textContent = `${line.name} ${text}${number === null || !line.unit ? "" : ` ${line.unit}`}`;
    }
    for (const [name, text] of this.bandTexts) {
      const now = data[name].filter((band) => band.begin_s <= time && time < band.end_s).map((band) => band.kind);
      text.textContent = now.join(", ") || "–";
    }
  }
}
