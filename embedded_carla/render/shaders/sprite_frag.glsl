in vec2 place;
flat in vec4 tone;
flat in float form;

void main() {
    vec2 a = abs(place);
    float round_ = clamp(1.0 - dot(place, place), 0.0, 1.0);
    round_ *= round_;
    float box = (1.0 - smoothstep(0.62, 1.0, a.x)) * (1.0 - smoothstep(0.40, 1.0, a.y));
    float core = round_ * round_ * round_;
    float share = form > 2.5 ? 1.0 : form == 1.0 ? box : (form > 1.0 ? 0.22 * round_ + 0.78 * core * core : round_);
    out_rgb = tone * share;  // premultiplied alpha blending
}
