terraform {
  required_providers {
    lab = { source = "weft.test/lab/lab" }
  }
}
resource "lab_widget" "z" {
  title = "x"
}
moved {
  from = lab_widget.x
  to   = lab_widget.z
}
removed {
  from = lab_widget.x
  lifecycle {
    destroy = false
  }
}

