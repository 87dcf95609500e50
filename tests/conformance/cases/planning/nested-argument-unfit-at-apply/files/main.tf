terraform {
  required_providers {
    lab    = { source = "weft.test/lab/lab" }
    oldlab = { source = "weft.test/lab/oldlab" }
  }
}
resource "lab_any" "a" {
  value = { s = "str", ls = ["x"] }
}
resource "oldlab_box" "t" {
  name = "t"
  shelf {
    slot {
      width = lab_any.a.echo.s
    }
  }
}
