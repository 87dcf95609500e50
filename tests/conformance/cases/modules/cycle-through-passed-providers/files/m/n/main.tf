resource "lab_thing" "t" {
  name = "t"
}
output "out" {
  value = lab_thing.t.region
}
