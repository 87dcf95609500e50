variable "name" {}
resource "lab_thing" "it" {
  name  = var.name
  color = "red"
}
