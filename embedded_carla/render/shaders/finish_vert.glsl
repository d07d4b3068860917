// One triangle over the whole picture, and the visible fraction of the sun's disc.
uniform sampler2D picture;
flat out vec3 glare;  // position of the sun in the picture (u, v), strength of the glare

void main() {
    vec2 corner = vec2(gl_VertexID == 1 ? 3.0 : -1.0, gl_VertexID == 2 ? 3.0 : -1.0);
    glare = vec3(0.0);
#ifdef GLARE
    float depth = dot(sun_direction.xyz, forward.xyz);
    vec2 at = vec2(dot(sun_direction.xyz, right.xyz) / right.w, -dot(sun_direction.xyz, up.xyz) / up.w) / max(depth, 0.01);
    at = at * 0.5 + 0.5;
    float seen = 0.0;
    for (int i = 0; i < 9; ++i) {
        vec2 p = at + vec2(float(i % 3 - 1), float(i / 3 - 1)) * mirror_scale.xy * 1.5;
        vec3 c = textureLod(picture, p, 0.0).rgb;
        seen += step(0.93, min(c.r, min(c.g, c.b) + 0.25)) * step(0.93, c.b) * step(abs(p.x - 0.5), 0.5) * step(abs(p.y - 0.5), 0.5);
    }
    glare = vec3(at, step(0.05, depth) * seen / 9.0 * clamp(sun_colour.r * 0.5, 0.0, 1.0));
#endif
    gl_Position = vec4(corner, 1.0, 1.0);
}
