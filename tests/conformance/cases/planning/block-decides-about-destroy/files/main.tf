terraform {
  required_providers {
    lab = { source = "weft.test/lab/lab" }
  }
}

resource "lab_thing" "a" { name = "a" }
resource "lab_thing" "t" {
  name = "t"
  lifecycle {
    create_before_destroy = true
    destroy = false
  }
  depends_on = [lab_thing.a]
}
