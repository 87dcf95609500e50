terraform {
  required_providers {
    lab = { source = "weft.test/lab/lab" }
  }
}
data "lab_things" "alone" {
}
data "lab_region" "alone2" {
}
data "lab_things" "named" {
}
data "lab_echo" "of" {
  value = terraform_data.fails.output
}
data "lab_echo" "used" {
  value = 1
}
resource "terraform_data" "fails" {
  input = length(data.lab_things.named.names)
  provisioner "local-exec" {
    when = destroy
    command = "exit 3"
  }
}
resource "terraform_data" "goes" {
  input = data.lab_echo.used.result
}
resource "terraform_data" "up" {
  input = "up"
}
data "lab_echo" "up" {
  value = terraform_data.up.output
}
resource "terraform_data" "fails2" {
  input = terraform_data.up.output
  provisioner "local-exec" {
    when = destroy
    command = "exit 3"
  }
}
