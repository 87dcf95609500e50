resource "terraform_data" "a" {
  input = 1
  provisioner "local-exec" {
    command = "echo ${terraform_data.a.id} > a.txt"
  }
}
resource "terraform_data" "counted" {
  count = 1
  provisioner "local-exec" {
    command = "echo ${terraform_data.counted[count.index].id}"
  }
}
resource "terraform_data" "each" {
  for_each = toset(["k"])
  provisioner "local-exec" {
    command = "echo ${terraform_data.each["k"].id}"
  }
}
resource "terraform_data" "whole" {
  lifecycle {
    enabled = true
  }
  provisioner "local-exec" {
    command = "echo ${jsonencode(terraform_data.whole)} > whole.txt"
  }
}
