// Static meshes: world coordinates are made camera-relative, so that float32 stays precise far from the origin.
in vec3 in_position;
in vec3 in_normal;
in vec2 in_uv;
uniform float towards_eye;  // depth bias towards the camera, fraction of the distance: markings lie on the road
out vec3 rel;
out vec3 normal;
out vec2 uv;
#ifdef SUN
out vec3 shadow_close;
out vec3 shadow_wide;
#endif
out float tone;             // -1 to 1, varies along a street and between streets

void main() {
    rel = in_position - eye.xyz;
    normal = in_normal;
    uv = in_uv;
    tone = sin(in_position.x * 0.0113 + 2.3 * sin(in_position.y * 0.0091)) * sin(in_position.y * 0.0137 + 1.0);
#ifdef SUN
    shadow_close = (shadow_matrix * vec4(rel + normal * 0.06, 1.0)).xyz;
    shadow_wide = (shadow_far * vec4(rel + normal * 0.5, 1.0)).xyz;
#endif
    gl_Position = view_projection * vec4(rel * (1.0 - towards_eye), 1.0);
}
