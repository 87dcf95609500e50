resource "terraform_data" "a" {
  connection {
    host = self.id
  }
  provisioner "local-exec" {
    command = "true"
    connection {
      user = self.nope
    }
  }
}
