in vec3 ray;

#ifdef OUT_RGB
vec3 clouds(vec3 sky, vec3 d) {
    vec2 p = d.xy / (max(d.z, 0.0) + 0.12) * 1.3 + eye.w * 0.002 * (1.0 + ground_water.w) * vec2(1.0, 0.6);
    float density = 0.55 * value_noise(p) + 0.27 * value_noise(p * 2.1 + 7.0) + 0.18 * value_noise(p * 4.7 + 3.0);
    float cover = smoothstep(0.92 - sun_colour.w * 0.95, 1.12 - sun_colour.w * 0.85, density) * smoothstep(0.0, 0.12, d.z);
    float towards = max(dot(d, sun_direction.xyz), 0.0);
    vec3 body = (sky_ambient.rgb * 0.62 + sun_colour.rgb * (0.12 + 0.22 * towards * towards)) * (1.15 - 0.55 * density * sun_colour.w);
    return mix(sky, body, cover);
}
#endif

void main() {
#ifdef OUT_RGB
    vec3 d = normalize(ray);
    vec3 sky = sky_gradient(d);
    float disc = smoothstep(0.99985, 0.99996, dot(d, sun_direction.xyz));
    sky += sun_colour.rgb * (disc * 12.0);
    for (int i = 0; i < int(counts.z); ++i) sky = clouds(sky, d);
    out_rgb = display(through_air(sky, d * min(1200.0, 130.0 / (max(d.z, 0.0) + 0.1))));
#endif
#ifdef OUT_DEPTH
    out_depth = 1000.0;
#endif
#ifdef OUT_LABELS
    out_label = uvec2(11u, 0u);
#endif
}
