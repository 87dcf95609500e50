terraform {
  required_providers {
    lab = {
      source = "weft.test/lab/lab"
    }
  }
}
resource "terraform_data" "r" {
 input = "one"
}
provider "lab" {
 region = "${terraform_data.r.input}x"
 token = terraform_data.r.output
}
resource "lab_thing" "a" {
 name = "a"
}
