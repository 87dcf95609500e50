terraform {
  required_providers {
    oldlab = {
      source = "weft.test/lab/oldlab"
    }
    lab = {
      source = "weft.test/lab/lab"
    }
  }
}
resource "oldlab_box" "b" {
  name = "b"
  item {
    name = "one"
  }
  item {
    name = "two"
  }
  lid {
    color = "red"
  }
  shelf {
    slot {
      width = 3
    }
    slot {}
  }
}
resource "lab_thing" "t" {
  name      = "t"
  secret_wo = "w"
  limits    = { cpu = 2 }
  rule {
    port = 80
  }
  step {
    command = "go"
  }
}
