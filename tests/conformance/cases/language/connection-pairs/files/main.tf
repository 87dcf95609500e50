resource "terraform_data" "a" {
  connection {
    host = var.none
    nope = 1
  }
  provisioner "local-exec" {
    command = "true"
    connection {
      host = self.nope
    }
  }
}
