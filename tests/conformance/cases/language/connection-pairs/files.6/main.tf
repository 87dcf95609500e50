resource "terraform_data" "a" {
  connection {
    host = "h"
    nope = 1
  }
  provisioner "local-exec" {
    command = "true"
    connection {
      user = "u"
    }
  }
}
