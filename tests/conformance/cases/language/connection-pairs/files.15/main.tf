resource "terraform_data" "a" {
  provisioner "local-exec" {
    command = "true"
    connection {
      nope = 1
      user = var.none
    }
  }
}
