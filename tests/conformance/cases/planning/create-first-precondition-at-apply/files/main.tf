
variable "g" { default = 1 }
resource "lab_thing" "up" { name = "up${var.g}" }
resource "lab_thing" "a" {
  name = "a${var.g}"
  color = lab_thing.up.id
  lifecycle {
    create_before_destroy = true
    precondition {
      condition = var.g == 1 || length(lab_thing.up.id) > 100
      error_message = "short"
    }
  }
}
