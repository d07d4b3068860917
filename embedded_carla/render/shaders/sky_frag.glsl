in vec3 ray;

#ifdef OUT_RGB
uniform sampler2D surface;  // the cloud texture

vec3 clouds(vec3 sky, vec3 d) {
    vec2 p = d.xy / (max(d.z, 0.0) + 0.10) * 0.145 + eye.w * 0.0003 * (1.0 + ground_water.w) * vec2(1.0, 0.6);
    vec3 broad = texture(surface, p).rgb;
    float wisps = texture(surface, p * 3.7 + 0.3).g;
    float density = 0.72 * broad.r + 0.28 * wisps;
    float open = 0.80 - 0.72 * sun_colour.w;
    float cover = smoothstep(open, open + 0.26, density) * smoothstep(0.0, 0.10, d.z);
    cover = max(cover, 0.22 * smoothstep(0.5, 0.95, broad.b) * min(1.0, 4.0 * sun_colour.w) * smoothstep(0.2, 0.5, d.z));
    float towards = max(dot(d, sun_direction.xyz), 0.0);
    float edge = clamp(1.25 - 1.5 * (density - open), 0.0, 1.0);  // thin cloud edges are the brightest
    vec3 lit = sun_colour.rgb * (0.10 + 0.24 * edge + 0.25 * towards * towards * towards * towards);
    vec3 body = sky_ambient.rgb * (0.78 - 0.36 * density * sun_colour.w) + lit;
    return mix(sky, body, cover);
}
#endif

void main() {
#ifdef OUT_RGB
    vec3 d = normalize(ray);
    vec3 sky = sky_gradient(d);
    float sun = max(dot(d, sun_direction.xyz), 0.0);
    for (int i = 0; i < int(counts.z); ++i) sky = clouds(sky, d);
    float disc = smoothstep(0.99985, 0.99996, sun);
    float ring = clamp(1.0 - (1.0 - sun) * 400.0, 0.0, 1.0);
    sky += sun_colour.rgb * (disc * 12.0 + 0.8 * ring * ring * ring * ring);
    out_rgb = display(through_air(sky, d * min(1200.0, 130.0 / (max(d.z, 0.0) + 0.1))));
#endif
#ifdef OUT_DEPTH
    out_depth = 1000.0;
#endif
#ifdef OUT_LABELS
    out_label = uvec2(11u, 0u);
#endif
}
