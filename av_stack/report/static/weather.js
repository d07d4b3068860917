/** Put the page of a weather study together. `window.report` is there once all of it can be used. */
async function start() {
  await loadPlotly();
  const plots = [...data.curves.map((curve) => [curvePlot, curve]), ...data.maps.map((map) => [heatMap, map])];
  const boxes = plots.map(newBox); // all first: a plot takes the width that its box has
  await Promise.all(plots.map(([draw, content], number) => draw(boxes[number], content)));
  window.report = {};
}

const CONFIG = { displayModeBar: false, responsive: true };
const COLOURS = ["#1a56db", "#c81e3a", "#0e8a4f"];

function newBox() {
  const box = document.createElement("div");
  box.className = "card";
  document.getElementById("plots").append(box);
  return box;
}

function layoutFor(title, xTitle) {
  return { title: { text: title, font: { size: 14 }, x: 0.01, xanchor: "left", y: 0.97, yanchor: "top" }, font: PLOT_FONT, height: 280,
    margin: { l: 10, r: 20, t: 56, b: 44 }, paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "#fbfcfe",
    legend: { orientation: "h", x: 0, xanchor: "left", y: 1.0, yanchor: "bottom" },
    xaxis: { title: { text: xTitle }, automargin: true }, yaxis: { automargin: true, rangemode: "tozero" } };
}

/** A line through the means, its band where there are intervals, and the stated limits. */
function curvePlot(box, curve) {
  const traces = curve.lines.flatMap((line, number) => {
    const colour = COLOURS[number % COLOURS.length];
    const known = line.low.map((value, row) => row).filter((row) => line.low[row] !== null);
    const band = { x: [...known, ...[...known].reverse()].map((row) => line.x[row]), fill: "toself", type: "scatter",
      y: [...known.map((row) => line.high[row]), ...[...known].reverse().map((row) => line.low[row])],
      fillcolor: `${colour}22`, line: { width: 0 }, hoverinfo: "skip", showlegend: false, mode: "lines" };
    const mean = { x: line.x, y: line.mean, name: line.name, type: "scatter", mode: "lines+markers",
      line: { color: colour }, showlegend: curve.lines.length > 1,
      hovertemplate: line.drives.map((count) => `%{y:.3f}, mean of ${count} drives<extra></extra>`) };
    return known.length ? [band, mean] : [mean];
  });
  const layout = layoutFor(curve.title, curve.x_title);
  layout.shapes = curve.limits.map((limit) => ({ type: "line", xref: "paper", x0: 0, x1: 1, y0: limit, y1: limit,
    line: { color: "#667085", width: 1, dash: "dash" } }));
  return Plotly.newPlot(box, traces, layout, CONFIG);
}

function heatMap(box, map) {
  const trace = { type: "heatmap", x: map.x, y: map.y, z: map.z, colorscale: "Viridis", hoverongaps: false,
    hovertemplate: "%{x}, %{y}: %{z:.3f}<extra></extra>" };
  const layout = layoutFor(map.title, map.x_title);
  layout.xaxis.type = "category"; // a tick for each weather
  layout.yaxis = { title: { text: map.y_title }, automargin: true, type: "category" };
  return Plotly.newPlot(box, [trace], layout, CONFIG);
}

start();
