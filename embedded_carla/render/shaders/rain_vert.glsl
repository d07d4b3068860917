// Rain as thin blended quads in a box around the camera. Positions wrap around in the box, so that drops stay fixed in
// the world while the camera moves.
in vec4 drop;        // position in the unit box, w: corner 0..3
out float strength;
out float across;

void main() {
    vec3 box = vec3(16.0, 16.0, 10.0);
    vec3 velocity = vec3(ground_water.w * 0.6, ground_water.w * 0.25, -9.0);
    vec3 p = drop.xyz * box + velocity * eye.w;
    vec3 rel = mod(p - eye.xyz + box * 0.5, box) - box * 0.5;
    int corner = int(drop.w + 0.5);
    float end = corner >= 2 ? 1.0 : 0.0;
    float side = (corner & 1) == 1 ? 1.0 : -1.0;
    float depth = dot(rel, forward.xyz);
    vec3 wide = normalize(cross(velocity, rel)) * (0.0022 + 0.0011 * max(depth, 0.5));
    vec3 q = rel + velocity * (0.035 * end) + wide * (side * 0.5);
    across = side;
    strength = smoothstep(0.5, 1.5, depth) * (1.0 - smoothstep(5.0, 8.0, length(rel)));
    gl_Position = view_projection * vec4(q, 1.0);
}
