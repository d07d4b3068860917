// One triangle over the whole picture at the far plane, drawn last: only pixels without an object pass the depth test.
out vec3 ray;

void main() {
    vec2 corner = vec2(gl_VertexID == 1 ? 3.0 : -1.0, gl_VertexID == 2 ? 3.0 : -1.0);
    // Rows run top-down in memory, so clip +y points down in the picture.
    ray = forward.xyz + right.xyz * (corner.x * right.w) - up.xyz * (corner.y * up.w);
    gl_Position = vec4(corner, 1.0, 1.0);
}
