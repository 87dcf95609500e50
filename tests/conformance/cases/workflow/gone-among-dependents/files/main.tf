terraform {
  required_providers {
    lab = {
      source  = "weft.test/lab/lab"
      version = "1.0.0"
    }
  }
}

variable "f" { default = null }
variable "n" { default = 1 }
resource "lab_widget" "base" { title = "base" }
resource "lab_thing" "mid" {
  name    = "mid"
  size    = var.n
  color   = lab_widget.base.id
  fail_on = var.f
}
resource "lab_thing" "top" {
  name = "top${var.n}-${lab_thing.mid.size}"
}
resource "lab_widget" "side" {
  title      = "side"
  depends_on = [lab_thing.mid]
}
output "base" { value = lab_widget.base.title }
output "side" { value = lab_widget.side.id }
