terraform {
  required_providers {
    lab = { source = "weft.test/lab/lab" }
  }
}
resource "lab_widget" "x" {
  title = "x"
}
removed {
  from = lab_widget.y
  lifecycle {
    destroy = false
  }
}
