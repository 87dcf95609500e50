terraform {
  required_providers {
    lab = {
      source = "weft.test/lab/lab"
    }
  }
}
resource "lab_thing" "a" {
  name = "a"
}
resource "lab_widget" "w" {
  title = "w"
}
import {
  to       = lab_thing.a
  identity = { region = "default" }
}
import {
  to       = lab_widget.w
  identity = { title = "w" }
}
