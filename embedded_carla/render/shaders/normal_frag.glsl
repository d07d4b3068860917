// World-frame surface normal, -1..1 encoded as 0..1, in the byte order of the wire. Takes the outputs of object_vert
// and ground_vert. The normal is flipped towards the camera, because two-sided surfaces have only one normal.
in vec3 rel;
in vec3 normal;
layout(location = 0) out vec4 out_normal;

void main() {
    vec3 face = cross(dFdx(rel), dFdy(rel));
    face *= dot(face, rel) > 0.0 ? -1.0 : 1.0;
    vec3 n = normalize(normal);
    n *= dot(n, face) < 0.0 ? -1.0 : 1.0;
    out_normal = vec4((n * 0.5 + 0.5).zyx, 1.0);
}
