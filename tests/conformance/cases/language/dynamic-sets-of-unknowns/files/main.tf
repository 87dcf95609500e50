terraform {
  required_providers {
    lab = {
      source = "weft.test/lab/lab"
    }
  }
}

resource "terraform_data" "t" {
}
resource "terraform_data" "u" {
}
resource "lab_thing" "a" {
  name = "a"
  dynamic "step" {
    for_each = toset([terraform_data.t.id])
    content {
      command = step.value
    }
  }
}
resource "lab_thing" "c" {
  name = "c"
  dynamic "step" {
    for_each = toset([{ a = terraform_data.t.id, b = "x" }])
    content {
      command = step.value.a
      on      = step.value.b
    }
  }
}
