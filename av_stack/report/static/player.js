/**
 * The time of the drive that the page shows, s. It follows the video; where there is none, or none at that time, a
 * clock moves it.
 */
class Player {
  constructor(video, duration, timing) {
    this.video = video;
    this.duration = duration;
    this.begin = timing ? timing.begin_s : 0;
    this.rate = timing ? timing.rate : 1;
    this.hasVideo = Boolean(timing);
    this.watchers = [];
    this.away = this.hasVideo ? null : 0; // the time, while the video cannot show it
    this.parked = 0; // where the video waits meanwhile
    this.isPlaying = false;
    this.speed = 1;
    this.lastFrame = 0;
    for (const name of ["seeking", "seeked", "timeupdate", "loadedmetadata"])
      video.addEventListener(name, () => this.follow());
    video.addEventListener("ended", () => this.pause());
  }

  get time() {
    if (this.away !== null) return this.away;
    return Math.min(this.duration, this.begin + this.video.currentTime * this.rate);
  }

  onTime(watcher) {
    this.watchers.push(watcher);
  }

  tell() {
    for (const watcher of this.watchers) watcher(this.time);
  }

  seek(time) {
    const wanted = Math.max(0, Math.min(this.duration, time));
    this.away = wanted;
    if (this.hasVideo) {
      const inVideo = (wanted - this.begin) / this.rate;
      const end = Number.isFinite(this.video.duration) ? this.video.duration : Infinity;
      // A thousandth of a second more, so that rounding does not show the picture before.
      this.parked = Math.max(0, Math.min(end, inVideo + (inVideo > 0 ? 0.001 : 0)));
      this.video.currentTime = this.parked;
      if (inVideo >= 0 && inVideo < end) this.away = null;
    }
    this.tell();
  }

  /** The video has moved, or something moved it. */
  follow() {
    if (this.hasVideo && Math.abs(this.video.currentTime - this.parked) > 0.002) this.away = null;
    this.tell();
  }

  toggle() {
    if (this.isPlaying) this.pause();
    else this.play();
  }

  play() {
    const atEnd = this.time >= this.duration - 0.05 || (this.hasVideo && this.video.ended);
    if (atEnd) this.seek(0);
    if (this.hasVideo) {
      this.away = null;
      this.video.playbackRate = this.speed;
      this.video.play().catch(() => this.pause());
    }
    this.isPlaying = true;
    this.lastFrame = performance.now();
    requestAnimationFrame((now) => this.frame(now));
    this.tell();
  }

  pause() {
    this.isPlaying = false;
    if (this.hasVideo) this.video.pause();
    this.tell();
  }

  setSpeed(speed) {
    this.speed = speed;
    this.video.playbackRate = speed;
  }

  frame(now) {
    if (!this.isPlaying) return;
    if (this.away !== null) {
      this.away = Math.min(this.duration, this.away + ((now - this.lastFrame) / 1000) * this.speed);
      if (this.away >= this.duration) this.isPlaying = false;
    }
    this.lastFrame = now;
    this.tell();
    requestAnimationFrame((next) => this.frame(next));
  }
}

/** The row of the last of the sorted times that is not after `time`; 0 before the first. */
function rowAt(times, time) {
  let low = 0;
  let high = times.length - 1;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (times[middle] <= time + 1e-6) low = middle;
    else high = middle - 1;
  }
  return low;
}
