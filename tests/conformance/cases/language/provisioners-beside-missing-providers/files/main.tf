terraform {
  required_providers {
    lab = { source = "weft.test/lab/lab" }
  }
}
resource "lab_thing" "a" {
  name = "a"
  provisioner "shell" {}
}
resource "terraform_data" "b" {
  provisioner "shell" {}
  provisioner "local-exec" {
    command = "x"
  }
}
removed {
  from = terraform_data.x
  lifecycle {
    destroy = true
  }
  provisioner "zork" {
    when = destroy
  }
}
