resource "terraform_data" "a" {
  connection {
    host = null
  }
  provisioner "local-exec" {
    command = "true"
    connection {
      user = "x"
    }
  }
}
