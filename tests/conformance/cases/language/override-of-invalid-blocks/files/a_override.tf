variable "v" {
  type      = number
  sensitive = 3
}
output "o" {
  value = 1
}
module "m" {
  providers = {}
}
resource "terraform_data" "x" {
  provisioner "local-exec" {
    when    = also
    command = "true"
  }
  connection {
    host = "x"
  }
  connection {
    host = "x"
  }
}
