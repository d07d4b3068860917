/** Put the parts of a drive's page together. `window.report` is there once all of it can be used. */
async function start() {
  const video = document.getElementById("video");
  const hasVideo = Boolean(data.video) && (await showVideo(video));
  const player = new Player(video, data.duration_s || 0, hasVideo ? data.video : null);
  listenToRows(player);
  if (!data.signals) {
    for (const id of ["player", "timeline", "map"]) document.getElementById(id).remove();
    document.querySelector(".hint").remove();
    window.report = { player };
    return;
  }
  await loadPlotly();
  const bird = new BirdView(document.getElementById("bird"), player);
  listenToControls(player, bird, hasVideo);
  const timeline = new Timeline(document.getElementById("timeline"), player);
  await timeline.draw();
  const map = new RoadMap(document.getElementById("map"), player);
  await map.draw();
  const wanted = new URLSearchParams(location.hash.slice(1)).get("t");
  player.seek(wanted ? Number(wanted) : 0);
  window.report = { player, timeline, map };
}

/** Show the video of the page, or the file beside it; false if it cannot be played. */
function showVideo(video) {
  const embedded = document.getElementById("embedded-video").textContent.length > 0;
  video.src = embedded ? URL.createObjectURL(new Blob([bytesOf("embedded-video")], { type: "video/mp4" })) : data.video.file;
  return new Promise((done) => {
    video.addEventListener("loadedmetadata", () => done(true), { once: true });
    video.addEventListener("error", () => done(false), { once: true });
  });
}

function listenToRows(player) {
  const go = (row) => player.seek(row.dataset.row ? data.infractions[row.dataset.row].time_s : Number(row.dataset.time));
  for (const row of document.querySelectorAll("[data-row], [data-time]")) {
    row.addEventListener("click", () => go(row));
    row.addEventListener("keydown", (event) => event.key === "Enter" && go(row));
  }
  player.onTime((time) => {
    for (const row of document.querySelectorAll("[data-row]"))
      row.classList.toggle("now", Math.abs(data.infractions[row.dataset.row].time_s - time) < 0.6);
  });
}

function listenToControls(player, bird, hasVideo) {
  const button = document.getElementById("play");
  const clock = document.getElementById("clock");
  const said = document.getElementById("said");
  button.addEventListener("click", () => player.toggle());
  document.getElementById("speed").addEventListener("change", (event) => player.setSpeed(Number(event.target.value)));
  player.onTime((time) => {
    button.textContent = player.isPlaying ? "❚❚" : "▶";
    clock.textContent = `${time.toFixed(1)} / ${data.duration_s.toFixed(1)} s`;
    const words = data.constraints;
    said.textContent = words.length ? words[rowAt(words.map((each) => each[0]), time)][1] : "";
  });
  document.addEventListener("keydown", (event) => {
    if (["INPUT", "SELECT", "BUTTON"].includes(event.target.tagName)) return;
    const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (event.key === " ") player.toggle();
    else if (step) player.seek(player.time + step * (event.shiftKey ? 0.1 : 1));
    else return;
    event.preventDefault();
  });
  const view = document.getElementById("view");
  const choose = (isAbove) => {
    bird.canvas.style.display = isAbove ? "block" : "none";
    player.video.style.visibility = isAbove ? "hidden" : "visible";
    view.textContent = isAbove ? "view of the camera" : "view from above";
    bird.show(player.time);
  };
  view.addEventListener("click", () => choose(bird.canvas.style.display === "none"));
  view.hidden = !hasVideo;
  choose(!hasVideo);
}

start();
