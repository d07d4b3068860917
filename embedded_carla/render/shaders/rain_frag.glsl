in float strength;
in float across;

void main() {
    vec3 colour = sky_horizon.rgb * 0.9 + sky_ambient.rgb * 0.35 + vec3(0.01);
    out_rgb = vec4(display(colour).rgb, strength * (1.0 - abs(across)) * 0.55);
}
