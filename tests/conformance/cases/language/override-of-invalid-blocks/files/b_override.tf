variable "v" {
  sensitive = false
}
resource "terraform_data" "x" {
  provisioner "local-exec" {
    command = "true"
  }
}
