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
  default = 1
}

resource "terraform_data" "d" {
  input = "d"
}

resource "lab_thing" "stays" {
  name    = "stays"
  size    = var.size
  fail_on = var.fail
  lifecycle {
    destroy = false
  }
}

resource "lab_thing" "first" {
  name    = "first"
  size    = var.size
  color   = terraform_data.d.output
  fail_on = var.fail
  lifecycle {
    create_before_destroy = true
  }
}

resource "lab_thing" "both" {
  name    = "both"
  size    = var.size
  color   = terraform_data.d.output
  fail_on = var.fail
  lifecycle {
    create_before_destroy = true
    destroy               = false
  }
}

resource "terraform_data" "provisioned" {
  lifecycle {
    destroy = false
  }
  provisioner "local-exec" {
    command = var.fail == null ? "true" : "false"
  }
}
