variable "a" {}
variable "b" {}
terraform {
  backend "local" {
    path          = "${var.a}.tfstate"
    workspace_dir = local.directory
  }
}
locals {
  directory = var.b
}
