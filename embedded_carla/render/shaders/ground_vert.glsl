// Static meshes: world coordinates made camera-relative, so that float32 stays precise far from the origin.
in vec3 in_position;
in vec3 in_normal;
in vec2 in_uv;
uniform float towards_eye;  // share of the distance that the depth test sees it nearer: markings lie on the road
out vec3 rel;
out vec3 normal;
out vec2 uv;

void main() {
    rel = in_position - eye.xyz;
    normal = in_normal;
    uv = in_uv;
    gl_Position = view_projection * vec4(rel * (1.0 - towards_eye), 1.0);
}
