terraform {
  required_providers {
    lab = { source = "weft.test/lab/lab" }
  }
}

variable "fail" {
  type    = string
  default = null
}

variable "size" {
  default = 3
}

resource "lab_thing" "known" {
  name    = "known"
  size    = var.size
  fail_on = var.fail
  lifecycle {
    postcondition {
      condition     = self.size < 30
      error_message = "Large."
    }
  }
}

resource "lab_thing" "many" {
  count   = 2
  name    = "many${count.index}"
  size    = var.size
  fail_on = count.index == 1 ? var.fail : null
  lifecycle {
    precondition {
      condition     = var.size < 30
      error_message = "Large."
    }
    postcondition {
      condition     = self.size < 30
      error_message = "Large."
    }
  }
}

check "one" {
  assert {
    condition     = lab_thing.many[0].size < 30
    error_message = "Large."
  }
}

check "two" {
  assert {
    condition     = lab_thing.known.name == "known"
    error_message = "Named ${lab_thing.many[0].name}."
  }
}
