"""A web service that reads the faces of a picture that is sent to it.

    pip install rankotom-edge fastapi uvicorn
    uvicorn --app-dir examples web_service:app
    curl --data-binary @photo.jpg -H 'Content-Type: image/jpeg' http://127.0.0.1:8000/faces

It keeps no picture. Behind a proxy, add authentication and a limit for the size of a request.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from fastapi import FastAPI, HTTPException, Request
from fastapi.concurrency import run_in_threadpool

from rankotom_edge import FaceReading, RankotomError, Reader

LARGEST = 20_000_000  # bytes


@asynccontextmanager
async def lifespan(app: FastAPI) -> AsyncIterator[None]:
    with Reader() as reader:  # opened once; threads may share it
        app.state.reader = reader
        yield


app = FastAPI(title="rankotom-edge", lifespan=lifespan)


@app.post("/faces")
async def faces(request: Request) -> list[FaceReading]:
    body = bytearray()
    async for part in request.stream():
        body += part
        if len(body) > LARGEST:
            raise HTTPException(413, f"a picture has at most {LARGEST:,} bytes")
    return await run_in_threadpool(read, app.state.reader, bytes(body))


def read(reader: Reader, picture: bytes) -> list[FaceReading]:
    try:
        return list(reader.read(picture).faces)
    except RankotomError as error:
        raise HTTPException(422, str(error)) from error
