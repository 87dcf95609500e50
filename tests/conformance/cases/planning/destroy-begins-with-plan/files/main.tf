terraform {
  required_providers {
    lab = {
      source = "weft.test/lab/lab"
    }
  }
}

variable "bad" {
  default = "no"
}

resource "lab_thing" "a" {
  name    = "a"
  size    = var.bad == "size" ? 7 : 2
  fail_on = var.bad == "plan" ? "plan" : null
}

resource "lab_singleton" "s" {
  name  = "s"
  value = var.bad == "value" ? "x" : "y"

  lifecycle {
    prevent_destroy = true
  }
}

output "revision" {
  value = [lab_thing.a.revision, var.bad]
}
