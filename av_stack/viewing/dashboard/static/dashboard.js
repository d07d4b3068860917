"use strict";

const HISTORY_S = 30; // the plots show so much of the past
const PLAN_S = 6; // and the plot of the speed so much of the plan
const TIMING_STEPS = 10; // the bars show the mean of so many steps
const token = new URLSearchParams(location.search).get("token");
const withToken = (path) => `${path}?token=${encodeURIComponent(token)}`;
const at = (id) => document.getElementById(id);
const dashboard = { drive: null, steps: [], way: [], shown: 0, state: "connecting" };
window.dashboard = dashboard; // for tests

function setStatus(text, tone) {
  dashboard.state = text;
  at("status").textContent = text;
  at("status").className = tone || "";
}

const source = new EventSource(withToken("/events"));
source.addEventListener("drive", (event) => {
  dashboard.drive = JSON.parse(event.data);
  dashboard.steps = [];
  dashboard.way = [];
  at("name").textContent = dashboard.drive.name;
  document.title = `${dashboard.drive.name} – av-stack`;
  if (!dashboard.isStopping) setStatus("begins");
});
source.addEventListener("step", (event) => show(JSON.parse(event.data)));
source.addEventListener("stopping", () => {
  dashboard.isStopping = true;
  at("stop").disabled = true;
  at("stop").textContent = "stopping";
});
source.addEventListener("end", (event) => {
  source.close();
  dashboard.isEnded = true;
  at("stop").disabled = true;
  at("stop").textContent = "ended";
  setStatus(`ended: ${JSON.parse(event.data)}`, "warn");
});
source.onerror = () => {
  if (!dashboard.isEnded) setStatus("no connection: the drive has ended, or does not answer", "bad");
};
source.onopen = () => setStatus("loading");

at("stop").onclick = async () => {
  at("stop").disabled = true;
  try {
    const answer = await fetch(withToken("/stop"), { method: "POST" });
    if (!answer.ok) throw new Error(await answer.text());
    at("stop").textContent = "stopping";
  } catch (error) {
    at("stop").disabled = false;
    setStatus(`the stop did not arrive: ${error.message}`, "bad");
  }
};

function show(step) {
  dashboard.shown += 1;
  dashboard.steps.push(step);
  while (dashboard.steps[0].time_s < step.time_s - HISTORY_S) dashboard.steps.shift();
  for (const old of dashboard.steps.slice(0, -TIMING_STEPS)) old.front = old.above = null; // frees the pictures
  dashboard.way.push([step.truth.x_m, step.truth.y_m]);
  showPicture("front", step.front);
  showPicture("above", step.above);
  at("no-front").hidden = Boolean(step.front);
  showHead(step);
  showMap(step);
  showPlots(step);
  showHealth(step);
  showTimings(step);
}

function showPicture(id, jpeg) {
  at(id).hidden = !jpeg;
  if (jpeg) at(id).src = `data:image/jpeg;base64,${jpeg}`;
}

function showHead(step) {
  const { "/control": control = {}, "/judge": judge, "/supervision": supervision } = step.topics;
  at("speed").textContent = (3.6 * step.truth.speed_mps).toFixed(0);
  at("where").textContent = `${judge.progress_m.toFixed(0)} of ${dashboard.drive.route_m.toFixed(0)} m · ${step.time_s.toFixed(1)} s`;
  const behaviour = control.behaviour && control.behaviour !== "follow lane" ? `${control.behaviour}: ` : "";
  at("limits").textContent = behaviour + (control.constraint || "");
  at("limits").title = control.reason || "";
  const state = supervision ? supervision.state : `driven by ${dashboard.drive.agent}`;
  setStatus(state, { normal: "good", cautious: "warn", slow: "warn", "safe stop": "bad" }[state]);
}

/** Fits a canvas to its element, also on screens with more pixels; returns its context and size. */
function prepare(canvas) {
  const ratio = window.devicePixelRatio || 1;
  const { width, height } = canvas.getBoundingClientRect();
  canvas.width = Math.round(width * ratio);
  canvas.height = Math.round(height * ratio);
  const context = canvas.getContext("2d");
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  return { context, width, height };
}

function trace(context, points) {
  context.beginPath();
  points.forEach(([u, v], i) => (i ? context.lineTo(u, v) : context.moveTo(u, v)));
}

/** All roads around the route, north up, with the way that was driven. */
function showMap(step) {
  const { context, width, height } = prepare(at("map"));
  const { roads } = dashboard.drive;
  const points = roads.route.length ? roads.route : [[step.truth.x_m, step.truth.y_m]];
  const [xs, ys] = [points.map((p) => p[0]), points.map((p) => p[1])];
  const [x0, x1, y0, y1] = [Math.min(...xs) - 40, Math.max(...xs) + 40, Math.min(...ys) - 40, Math.max(...ys) + 40];
  const scale = Math.min(width / (x1 - x0), height / (y1 - y0));
  const toScreen = ([x, y]) => [width / 2 + (x - (x0 + x1) / 2) * scale, height / 2 - (y - (y0 + y1) / 2) * scale];
  for (const [, left, right] of roads.lanes) {
    trace(context, [...left, ...right.slice().reverse()].map(toScreen));
    context.fillStyle = "#d5d9e2";
    context.fill();
  }
  const line = (way, colour, px) => {
    trace(context, way.map(toScreen));
    context.strokeStyle = colour;
    context.lineWidth = px;
    context.stroke();
  };
  line(roads.route, "#a9c1f5", 4);
  line(dashboard.way, "#1a56db", 2);
  const [u, v] = toScreen([step.truth.x_m, step.truth.y_m]);
  const { yaw_rad: yaw } = step.truth;
  const tip = (angle, px) => [u + px * Math.cos(yaw + angle), v - px * Math.sin(yaw + angle)];
  trace(context, [tip(0, 10), tip(2.5, 8), tip(-2.5, 8)]);
  context.fillStyle = "#c81e3a";
  context.fill();
}

/** One plot: `lines` are {points: [[time, value]], colour}; a null value is a gap. */
function plot(id, lines, low, high, from, to, now) {
  const { context, width, height } = prepare(at(id));
  const [left, bottom] = [34, height - 16];
  const u = (time) => left + ((time - from) / (to - from)) * (width - left - 4);
  const v = (value) => bottom - ((value - low) / (high - low)) * (bottom - 6);
  context.font = "11px system-ui, sans-serif";
  context.lineWidth = 1;
  for (const value of [low, (low + high) / 2, high]) {
    context.strokeStyle = "#e6e9ef";
    trace(context, [[left, v(value)], [width - 4, v(value)]]);
    context.stroke();
    context.fillStyle = "#667085";
    context.fillText(Number(value.toFixed(1)), 2, v(value) + 4);
  }
  for (let time = Math.ceil(from / 10) * 10; time <= to; time += 10) context.fillText(`${time} s`, u(time) - 8, height - 3);
  if (now < to) {
    context.strokeStyle = "#98a2b3";
    trace(context, [[u(now), 6], [u(now), bottom]]);
    context.stroke();
  }
  context.lineWidth = 1.8;
  for (const { points, colour, dash } of lines) {
    context.strokeStyle = colour;
    context.setLineDash(dash || []);
    context.beginPath();
    let isDown = false;
    for (const [time, value] of points) {
      if (value === null || value === undefined) { isDown = false; continue; }
      context[isDown ? "lineTo" : "moveTo"](u(time), v(Math.min(high, Math.max(low, value))));
      isDown = true;
    }
    context.stroke();
  }
  context.setLineDash([]);
}

function showPlots(step) {
  const { steps } = dashboard;
  const now = step.time_s;
  const from = Math.max(steps[0].time_s, now - HISTORY_S);
  const span = Math.max(now, from + 5);
  const history = (value) => steps.map((each) => [each.time_s, value(each)]);
  const true_kmh = history((each) => 3.6 * each.truth.speed_mps);
  const limit_kmh = history((each) => 3.6 * each.topics["/judge"].limit_mps);
  const planned = step.plan ? step.plan.time_s.map((time, i) => [now + time, 3.6 * step.plan.speed_mps[i]]) : [];
  const ahead = planned.filter(([time]) => time <= now + PLAN_S);
  const top = 10 * Math.ceil((Math.max(...[...true_kmh, ...limit_kmh].map((each) => each[1])) + 4) / 10);
  plot("speeds", [
    { points: limit_kmh, colour: "#e07b00" },
    { points: true_kmh, colour: "#1a56db" },
    { points: ahead, colour: "#0e8a4f", dash: [4, 3] },
  ], 0, top, from, Math.max(now + PLAN_S, span), now);
  plot("lateral", [{ points: history((each) => each.topics["/judge"].lateral_error_m), colour: "#1a56db" }], -1, 1, from, span, now);
  const control = (name) => history((each) => each.topics["/control"]?.[name]);
  plot("controls", [
    { points: control("throttle"), colour: "#0e8a4f" },
    { points: control("brake"), colour: "#c81e3a" },
    { points: control("steer"), colour: "#1a56db" },
  ], -1, 1, from, span, now);
}

/** Fills a table with rows of [name, content, tone]; contents are texts or elements. */
function fill(table, rows) {
  table.replaceChildren(...rows.map(([name, content, tone, ...more]) => {
    const row = document.createElement("tr");
    const head = document.createElement("th");
    head.textContent = name;
    row.append(head, ...[content, ...more].map((each) => {
      const cell = document.createElement("td");
      cell.append(each);
      cell.className = tone || "";
      return cell;
    }));
    return row;
  }));
}

function showHealth(step) {
  const { "/supervision": supervision, "/confidence": confidence } = step.topics;
  const share = (value) => (value === null || value === undefined ? "not seen" : `${(100 * value).toFixed(0)} %`);
  const rows = [];
  if (supervision) {
    const isNormal = supervision.state === "normal";
    rows.push(["state", supervision.state + (supervision.reason ? `: ${supervision.reason}` : ""), isNormal ? "good" : "bad"]);
    const late = Object.entries(supervision.late_stages).map(([name, ms]) => `${name} ${ms.toFixed(0)} ms`);
    rows.push(["late stages", late.join(", ") || "none", late.length ? "warn" : ""]);
  }
  if (confidence) {
    rows.push(["left, right line", `${share(confidence.left_line)}, ${share(confidence.right_line)}`]);
    const sigma = confidence.position_sigma_m;
    rows.push(["position σ", sigma === null ? "unknown" : `${sigma.toFixed(2)} m`, sigma > 1.5 ? "bad" : ""]);
  }
  for (const [name, isThere] of Object.entries(step.sensors)) {
    rows.push([name, isThere ? "sends" : "sends nothing", isThere ? "good" : "bad"]);
  }
  fill(at("health"), rows);
}

function showTimings(step) {
  const recent = dashboard.steps.slice(-TIMING_STEPS).map((each) => each.topics["/stage_ms"]?.stage_ms || {});
  const names = Object.keys(step.topics["/stage_ms"]?.stage_ms || {});
  const means = names.map((name) => recent.reduce((sum, each) => sum + (each[name] || 0), 0) / recent.length);
  const rows = names.map((name, i) => {
    const deadline = dashboard.drive.deadline_ms[name] || 100;
    const bar = document.createElement("div");
    bar.className = "bar";
    const part = document.createElement("i");
    part.style.width = `${Math.min(100, (100 * means[i]) / deadline)}%`;
    part.className = means[i] > deadline ? "late" : "";
    bar.append(part);
    return [name, bar, "", `${means[i].toFixed(1)} of ${deadline}`];
  });
  rows.push(["sum", "", "", means.reduce((sum, each) => sum + each, 0).toFixed(1)]);
  fill(at("timings"), rows);
}
