variable "size" {}
resource "lab_thing" "t" {
  name = "t"
  size = var.size
}
output "size" {
  value = lab_thing.t.size
}
