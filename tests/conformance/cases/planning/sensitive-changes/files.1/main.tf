terraform {
  required_providers {
    lab = {
      source = "weft.test/lab/lab"
    }
  }
}

variable "c" {
  default   = "red"
  sensitive = true
}
resource "lab_thing" "a" {
  name   = "a"
  color  = var.c
  labels = { k = sensitive("v"), z = "z" }
}
resource "terraform_data" "t" {
  input            = { a = 1, b = sensitive("y") }
  triggers_replace = [sensitive("t")]
}
