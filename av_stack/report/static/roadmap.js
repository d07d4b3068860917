/** The map: lanes, route, tracks and infractions; the road users at the time shown are drawn above it. */
class RoadMap {
  constructor(box, player) {
    this.plot = box.querySelector(".plot");
    this.canvas = box.querySelector("canvas");
    this.player = player;
  }

  async draw() {
    const traces = [...this.roadTraces(), ...this.trackTraces(), this.infractionTrace()];
    const [x, y] = this.extent();
    const axis = { showgrid: false, zeroline: false, nticks: 6, ticks: "outside", ticklen: 3, tickcolor: "#c5ccd8" };
    const layout = {
      margin: { l: 46, r: 8, t: 8, b: 36 }, font: PLOT_FONT, dragmode: "pan", hovermode: "closest", plot_bgcolor: "#f4f6f9",
      xaxis: { ...axis, range: x, title: { text: "x, m", standoff: 2 } },
      yaxis: { ...axis, range: y, title: { text: "y, m", standoff: 2 }, scaleanchor: "x", scaleratio: 1 },
      legend: { orientation: "h", x: 0, y: 1, yanchor: "top", bgcolor: "rgba(255,255,255,0.85)", font: { size: 11 } },
    };
    const config = { displaylogo: false, responsive: true, scrollZoom: true, modeBarButtonsToRemove: ["select2d", "lasso2d", "toImage"] };
    await Plotly.newPlot(this.plot, traces, layout, config);
    this.plot.on("plotly_click", (event) => {
      const mark = this.markAt(event.event);
      const time = mark ? mark.time_s : event.points[0].customdata;
      if (typeof time === "number") this.player.seek(time);
    });
    for (const name of ["plotly_afterplot", "plotly_relayouting"]) this.plot.on(name, () => this.show(this.player.time));
    this.player.onTime((time) => this.show(time));
    this.show(this.player.time);
  }

  roadTraces() {
    if (!data.roads) return [];
    const fill = { x: [], y: [] };
    const edges = { x: [], y: [] };
    const stops = { x: [], y: [] };
    const add = (to, points) => {
      for (const [x, y] of points) {
        to.x.push(x);
        to.y.push(y);
      }
      to.x.push(null);
      to.y.push(null);
    };
    for (const [isJunction, left, right] of data.roads.lanes) {
      add(fill, [...left, ...right.slice().reverse(), left[0]]);
      if (!isJunction) add(edges, left), add(edges, right);
    }
    for (const line of data.roads.stop_lines) add(stops, line);
    const plain = { type: "scatter", mode: "lines", hoverinfo: "skip", showlegend: false };
    return [
      { ...plain, ...fill, fill: "toself", fillcolor: "#d3d8e0", line: { width: 0 } },
      { ...plain, ...edges, line: { color: "#fff", width: 1 } },
      { ...plain, ...stops, line: { color: "#8b95a5", width: 2 } },
      { ...plain, x: data.roads.route.map((p) => p[0]), y: data.roads.route.map((p) => p[1]), name: "route", showlegend: true,
        line: { color: "rgba(26, 86, 219, 0.25)", width: 7 } },
    ];
  }

  trackTraces() {
    const groups = { "other vehicles": [], "two-wheelers": [], pedestrians: [] };
    for (const track of data.tracks) {
      const isSlow = track.kind === "bicycle" || track.kind === "motorcycle";
      groups[track.kind === "pedestrian" ? "pedestrians" : isSlow ? "two-wheelers" : "other vehicles"].push(track);
    }
    const traces = Object.entries(groups).filter(([, tracks]) => tracks.length).map(([name, tracks]) => {
      const trace = { type: "scatter", mode: "lines", name, x: [], y: [], customdata: [], text: [], opacity: 0.75,
        line: { color: colourOf(tracks[0].kind), width: 1.3 }, hovertemplate: "%{text}<extra></extra>" };
      for (const track of tracks) {
        track.t.forEach((t, i) => {
          if (i && t - track.t[i - 1] > GONE_S) this.push(trace, null, null, null, "");
          this.push(trace, track.x[i], track.y[i], t, `${track.kind} ${track.id} at ${t.toFixed(1)} s`);
        });
        this.push(trace, null, null, null, "");
      }
      return trace;
    });
    const ego = data.ego;
    traces.push({ type: "scatter", mode: "lines", name: "ego", x: ego.x, y: ego.y, customdata: ego.t,
      line: { color: COLOURS.ego, width: 2.5 }, hovertemplate: "ego at %{customdata:.1f} s<extra></extra>" });
    return traces;
  }

  push(trace, x, y, time, text) {
    trace.x.push(x);
    trace.y.push(y);
    trace.customdata.push(time);
    trace.text.push(text);
  }

  infractionTrace() {
    const found = data.infractions;
    return { type: "scatter", mode: "markers+text", name: "infractions", x: found.map((e) => e.x_m), y: found.map((e) => e.y_m),
      customdata: found.map((e) => e.time_s), text: found.map((_, i) => String(i + 1)), textfont: { color: "#fff", size: 11 },
      marker: { size: 19, color: "#c81e3a", line: { color: "#fff", width: 1.5 } }, showlegend: found.length > 0,
      hovertext: found.map((e) => `${e.words}<br>${e.what}<br>at ${e.time_s.toFixed(1)} s`), hoverinfo: "text" };
  }

  /** The ranges of x and y in which the ego and its route lie. */
  extent() {
    const route = data.roads ? data.roads.route : [];
    const range = (values) => {
      let low = Infinity;
      let high = -Infinity;
      for (const value of values) {
        low = Math.min(low, value);
        high = Math.max(high, value);
      }
      const margin = Math.max(15, 0.05 * (high - low));
      return [low - margin, high + margin];
    };
    return [range([...data.ego.x, ...route.map((p) => p[0])]), range([...data.ego.y, ...route.map((p) => p[1])])];
  }

  /** The infraction whose mark is under the pointer: it counts more than the tracks below it. */
  markAt(event) {
    const box = this.plot.getBoundingClientRect();
    const { xaxis, yaxis } = this.plot._fullLayout;
    const gap = (entry) => Math.hypot(
      box.left + xaxis._offset + xaxis.l2p(entry.x_m) - event.clientX, box.top + yaxis._offset + yaxis.l2p(entry.y_m) - event.clientY);
    const nearest = data.infractions.slice().sort((a, b) => gap(a) - gap(b))[0];
    return nearest && gap(nearest) <= 11 ? nearest : null;
  }

  show(time) {
    const layout = this.plot._fullLayout;
    if (!layout) return;
    const { context } = prepare(this.canvas);
    const { xaxis, yaxis } = layout;
    context.save();
    context.beginPath();
    context.rect(xaxis._offset, yaxis._offset, xaxis._length, yaxis._length);
    context.clip();
    drawActors(context, time, (x, y) => [xaxis._offset + xaxis.l2p(x), yaxis._offset + yaxis.l2p(y)]);
    context.restore();
  }
}
