/** Put a suite's page together. `window.report` is there once all of it can be used. */
async function start() {
  sortByColumns();
  await loadPlotly();
  scorePlot("per-type", "mean score per type", data.types);
  scorePlot("per-weather", "mean score per weather", data.weathers);
  countPlot("per-kind", "infractions", data.kinds);
  window.report = {};
}

const CONFIG = { displayModeBar: false, responsive: true };
const BORDER = 1; // px

function layoutFor(title, rows, axisTitle) {
  return { title: { text: title, font: { size: 14 }, x: 0.01, xanchor: "left" }, font: PLOT_FONT, barmode: "group", bargap: 0.3,
    height: Math.max(246, 106 + 26 * rows), margin: { l: 18, r: 38, t: 48, b: 52 }, paper_bgcolor: "rgba(0,0,0,0)",
    plot_bgcolor: "#fbfcfe", legend: { orientation: "h", x: 1, xanchor: "right", y: 1.02, yanchor: "bottom" },
    yaxis: { automargin: true, fixedrange: true }, xaxis: { title: { text: axisTitle, standoff: 6 }, fixedrange: true, rangemode: "tozero" } };
}

/** Draw into a box that keeps its height: when the window changes, plotly takes that of the box. */
function draw(box, traces, layout) {
  box.style.height = `${layout.height + 2 * BORDER}px`;
  return Plotly.newPlot(box, traces, layout, CONFIG);
}

function scorePlot(id, title, groups) {
  const box = document.getElementById(id);
  if (!groups.length) return box.remove();
  const trace = (key, name, colour) => ({ type: "bar", orientation: "h", name, marker: { color: colour },
    y: groups.map((group) => group.name), x: groups.map((group) => group[key]),
    hovertemplate: groups.map((group) => `${name}: %{x:.1f}, mean of ${group.drives} drives<extra></extra>`) });
  const layout = layoutFor(title, groups.length * 1.3, "score, 0 to 100");
  layout.xaxis.range = [0, 100];
  return draw(box, [trace("score_21", "2.1", "#9db8f2"), trace("score_20", "2.0", "#1a56db")], layout);
}

function countPlot(id, title, kinds) {
  const box = document.getElementById(id);
  if (!kinds.length) return box.remove();
  const trace = { type: "bar", orientation: "h", y: kinds.map((kind) => kind.name), x: kinds.map((kind) => kind.count),
    marker: { color: "#c81e3a" }, hovertemplate: "%{x}<extra></extra>" };
  return draw(box, [trace], layoutFor(title, kinds.length, "number in all drives"));
}

/** A click on a column's name sorts the drives by it, the next click the other way round. */
function sortByColumns() {
  const table = document.querySelector(".drives");
  if (!table) return;
  const heads = [...table.querySelectorAll("th")];
  heads.forEach((head, column) => head.addEventListener("click", () => {
    const isDown = head.dataset.order !== "down";
    for (const each of heads) delete each.dataset.order;
    head.dataset.order = isDown ? "down" : "up";
    const body = table.tBodies[0];
    const key = (row) => row.cells[column].innerText.trim();
    const compare = (a, b) => key(a).localeCompare(key(b), "en", { numeric: true });
    body.append(...[...body.rows].sort((a, b) => (isDown ? compare(a, b) : compare(b, a))));
  }));
}

start();
