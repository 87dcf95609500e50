terraform {
  required_providers {
    lab = {
      source = "weft.test/lab/lab"
    }
  }
}

resource "lab_thing" "a" {
  name     = "a"
  replicas = [{ zone = "z" }]
}

resource "lab_thing" "b" {
  name = "b"

  dynamic "rule" {
    for_each = lab_thing.a.replicas
    content {
      port = rule.value.nope
      zip  = 1
    }
  }
}

resource "lab_thing" "c" {
  name = "c"

  dynamic "rule" {
    for_each = lab_thing.a.replicas
    content {
      cidr = rule.key
    }
  }
}

resource "lab_thing" "d" {
  name = "d"

  dynamic "rule" {
    for_each = lab_thing.a.replicas
    content {
      port = rule.value.weight + "x"
    }
  }
}
