const COLOURS = { ego: "#1a56db", pedestrian: "#b5179e", bicycle: "#7c3aed", motorcycle: "#7c3aed" };
const VEHICLE_COLOUR = "#e07b00";
const GONE_S = 0.6; // a road user without a point for so long is no longer there

function colourOf(kind) {
  return COLOURS[kind] || VEHICLE_COLOUR;
}

/** Pose of a track at a time, between its points; null where it has none then. */
function poseAt(track, time) {
  const { t, x, y, yaw } = track;
  if (!t.length || time < t[0] - 0.3 || time > t[t.length - 1] + 0.3) return null;
  const row = rowAt(t, time);
  const next = Math.min(row + 1, t.length - 1);
  const gap = t[next] - t[row];
  if (gap > GONE_S) return time - t[row] < GONE_S ? { x: x[row], y: y[row], yaw: yaw[row] } : null;
  const share = gap > 0 ? Math.max(0, Math.min(1, (time - t[row]) / gap)) : 0;
  const between = (values) => values[row] + share * (values[next] - values[row]);
  return { x: between(x), y: between(y), yaw: between(yaw) };
}

/** Draws the ego and the road users as boxes; `toScreen` maps (x, y) in metres to pixels. */
function drawActors(context, time, toScreen) {
  for (const track of data.tracks) drawBox(context, poseAt(track, time), track.kind, 0, toScreen);
  drawBox(context, poseAt(data.ego, time), "ego", data.ego_centre_m, toScreen);
}

function drawBox(context, pose, kind, ahead, toScreen) {
  if (!pose) return;
  const [length, width] = data.sizes_m[kind] || data.sizes_m.car;
  const cos = Math.cos(pose.yaw);
  const sin = Math.sin(pose.yaw);
  const at = (forward, left) =>
    toScreen(pose.x + (ahead + forward) * cos - left * sin, pose.y + (ahead + forward) * sin + left * cos);
  const nose = kind === "pedestrian" ? length / 2 : length * 0.28;
  const corners = [at(-length / 2, -width / 2), at(nose, -width / 2), at(length / 2, 0), at(nose, width / 2), at(-length / 2, width / 2)];
  context.beginPath();
  corners.forEach(([u, v], i) => (i ? context.lineTo(u, v) : context.moveTo(u, v)));
  context.closePath();
  context.fillStyle = colourOf(kind);
  context.strokeStyle = "#fff";
  context.lineWidth = 1;
  context.fill();
  context.stroke();
  const [u, v] = at(0, 0);
  const [w, z] = at(length / 2, 0);
  if (Math.hypot(w - u, z - v) < 3.5) { // too small on the screen to be seen
    context.beginPath();
    context.arc(u, v, kind === "ego" ? 5 : 3, 0, 2 * Math.PI);
    context.fill();
    context.stroke();
  }
}

/** Fits a canvas to its element, also on screens with more pixels; returns its context and size. */
function prepare(canvas) {
  const ratio = window.devicePixelRatio || 1;
  const { width, height } = canvas.getBoundingClientRect();
  if (canvas.width !== Math.round(width * ratio) || canvas.height !== Math.round(height * ratio)) {
    canvas.width = Math.round(width * ratio);
    canvas.height = Math.round(height * ratio);
  }
  const context = canvas.getContext("2d");
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.clearRect(0, 0, width, height);
  return { context, width, height };
}

/** The road around the ego from above, its heading upwards. */
class BirdView {
  constructor(canvas, player) {
    this.canvas = canvas;
    player.onTime((time) => this.show(time));
    window.addEventListener("resize", () => this.show(player.time));
  }

  show(time) {
    if (this.canvas.style.display === "none") return;
    const { context, width, height } = prepare(this.canvas);
    const ego = poseAt(data.ego, time) || { x: data.ego.x[0], y: data.ego.y[0], yaw: data.ego.yaw[0] };
    const scale = height / 60; // 60 m from the upper to the lower edge
    const cos = Math.cos(ego.yaw);
    const sin = Math.sin(ego.yaw);
    const toScreen = (x, y) => {
      const forward = (x - ego.x) * cos + (y - ego.y) * sin;
      const left = -(x - ego.x) * sin + (y - ego.y) * cos;
      return [width / 2 - left * scale, height * 0.68 - forward * scale];
    };
    context.fillStyle = "#e9ecf1";
    context.fillRect(0, 0, width, height);
    const trace = (points) => points.forEach(([x, y], i) => context[i ? "lineTo" : "moveTo"](...toScreen(x, y)));
    if (data.roads) {
      for (const [, left, right] of data.roads.lanes) {
        context.beginPath();
        trace([...left, ...right.slice().reverse()]);
        context.fillStyle = "#c9ced8";
        context.fill();
      }
      context.strokeStyle = "#fff";
      context.lineWidth = 1.2;
      for (const [isJunction, left, right] of data.roads.lanes) {
        if (isJunction) continue;
        context.beginPath();
        trace(left);
        trace(right);
        context.stroke();
      }
      context.beginPath();
      trace(data.roads.route);
      context.strokeStyle = "rgba(26, 86, 219, 0.28)";
      context.lineWidth = 1.2 * scale;
      context.stroke();
      context.lineWidth = 3;
      context.strokeStyle = "#fff";
      for (const line of data.roads.stop_lines) {
        context.beginPath();
        trace(line);
        context.stroke();
      }
    }
    drawActors(context, time, toScreen);
  }
}
