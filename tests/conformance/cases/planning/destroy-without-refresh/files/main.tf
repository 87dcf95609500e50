terraform {
  required_providers {
    lab = {
      source = "weft.test/lab/lab"
    }
  }
}
variable "size" {
  type    = number
  default = 3
  validation {
    condition     = var.size > 1
    error_message = "Too small."
  }
}
variable "wrong" {
  default = ""
}
variable "region" {
  default = "red"
  validation {
    condition     = var.region != "bad"
    error_message = "Bad region."
  }
}
locals {
  local = var.wrong == "local" ? file("nope") : "x"
}
provider "lab" {
  region = var.region
}
resource "lab_thing" "a" {
  name = "a"
  size = var.size
  lifecycle {
    precondition {
      condition     = var.wrong != "precondition"
      error_message = "Precondition."
    }
  }
}
resource "terraform_data" "t" {
  count = var.wrong == "count" ? length(file("nope")) : 1
  input = [local.local, lab_thing.a.id]
  provisioner "local-exec" {
    when    = destroy
    command = "echo gone ${self.id == "" ? "" : "t"} >> log.txt"
  }
}
data "lab_things" "d" {
  color = var.wrong == "data" ? file("nope") : "x"
}
module "m" {
  source = "./m"
  in     = var.wrong
}
check "k" {
  assert {
    condition     = var.wrong != "check"
    error_message = "Check."
  }
}
output "o" {
  value = var.wrong == "output" ? file("nope") : lab_thing.a.name
}
