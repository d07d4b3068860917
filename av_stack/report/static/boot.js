"use strict";

const data = JSON.parse(document.getElementById("data").textContent);

/** Bytes of a script element that holds base64. */
function bytesOf(id) {
  return Uint8Array.from(atob(document.getElementById(id).textContent), (char) => char.charCodeAt(0));
}

/** Run plotly, which the page holds compressed. */
async function loadPlotly() {
  const unpacked = new Blob([bytesOf("plotly")]).stream().pipeThrough(new DecompressionStream("gzip"));
  const script = document.createElement("script");
  script.textContent = await new Response(unpacked).text();
  document.head.append(script);
}

const PLOT_FONT = { family: "system-ui, 'Segoe UI', Roboto, 'DejaVu Sans', sans-serif", size: 12, color: "#1f2733" };
