terraform {
  required_providers {
    lab = { source = "weft.test/lab/lab" }
  }
}
resource "lab_widget" "w" {
  title = "w"
}
resource "lab_thing" "old" {
  count = 1
  name  = "old"
  size  = 7
}
output "o" { value = [1, "x"] }
