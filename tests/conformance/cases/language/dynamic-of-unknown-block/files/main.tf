resource "lab_thing" "a" {
 name="a"
 dynamic "replicas" {
 for_each=[1]
 iterator="r"
 content { zone="x" }
 }
 dynamic "replicas" {
 for_each=[1]
 iterator=r[0]
 content { zone="x" }
 }
}
